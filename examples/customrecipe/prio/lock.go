package prio

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/session"
)

// Lock is one side of the lock, with one priority. It holds the lock once at a time; concurrent
// callers wait for one another.
type Lock struct {
	host *recipe.Host
	path string
	turn chan struct{} // full while a caller has a claim

	mu    sync.Mutex // guards the ledger, which is written before the host is told
	last  uint64
	claim *claim
}

// claim is one caller's intent and its outcome.
type claim struct {
	want    want
	given   bool       // it was withdrawn
	refused bool       // ZooKeeper refused something
	answer  chan error // buffered; nil: grant is set
	grant   *Grant
	gone    chan struct{} // closed when nothing of it is left in ZooKeeper
}

// Grant is a possession of the lock. It embeds the session's Hold: Done, Err, Context, Token,
// Commit.
type Grant struct {
	*session.Hold

	lock    *Lock
	claim   *claim
	revoked chan struct{}
}

// New returns one side of the lock at a path. The priority is between 0, the best, and 999. New
// does no I/O.
func New(s *session.Session, path string, m Mode, priority int) (*Lock, error) {
	switch {
	case s == nil:
		return nil, errors.New("prio.New: s is nil")
	case !strings.HasPrefix(path, "/") || path == "/":
		return nil, fmt.Errorf("prio.New: path %q: %w", path, session.ErrInvalidPath)
	case m != Read && m != Write:
		return nil, fmt.Errorf("prio.New: mode %d: neither Read nor Write", m)
	case priority < best || priority > worst:
		return nil, fmt.Errorf("prio.New: priority %d: not between %d and %d", priority, best, worst)
	}
	return start(s, path, func() machine.Machine { return newMachine(path, m, priority) })
}

func start(s *session.Session, path string, newMachine func() machine.Machine) (*Lock, error) {
	l := &Lock{path: path, turn: make(chan struct{}, 1)}
	var err error
	l.host, err = recipe.New(recipe.Config{
		Session: s, Kind: "priority lock", Path: path,
		Machine: newMachine, Standing: l.standing, Perform: l.perform, Ended: l.ended,
	})
	return l, err
}

// Lock waits until the lock is held. If ctx ends first, no znode remains.
func (l *Lock) Lock(ctx context.Context) (*Grant, error) {
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-l.host.Done():
		return nil, l.host.Err()
	}
	c, request := l.enter()
	l.host.Tell(request)
	select {
	case err := <-c.answer:
		return c.grant, err
	case <-ctx.Done():
	case <-l.host.Done():
	}
	l.abandon(c)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return nil, l.host.Err()
}

// enter records a new claim in the ledger.
func (l *Lock) enter() (*claim, want) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	l.claim = &claim{
		want:   want{Claim: l.last, ID: strings.ToLower(rand.Text())},
		answer: make(chan error, 1), gone: make(chan struct{}),
	}
	return l.claim, l.claim.want
}

// abandon withdraws a claim, whether it waits or holds. The next caller may have its claim when
// nothing of this one is left.
func (l *Lock) abandon(c *claim) {
	l.mu.Lock()
	c.given = true
	g, number := c.grant, c.want.Claim
	l.mu.Unlock()
	if g != nil {
		l.host.End(g.Hold, session.ErrReleased)
	}
	l.host.Tell(give{number})
}

// Release releases the lock, and returns when ZooKeeper has confirmed it. If ctx ends first, the
// release continues in the background.
func (g *Grant) Release(ctx context.Context) error {
	l, c := g.lock, g.claim
	l.abandon(c)
	select {
	case <-c.gone:
		return nil
	case <-l.host.Done():
		return nil // the session deletes the znode
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Revoked returns a channel that is closed when a contender with a better priority waits at the
// head.
func (g *Grant) Revoked() <-chan struct{} { return g.revoked }

// Close withdraws the claim and ends the lock.
func (l *Lock) Close(ctx context.Context) error { return l.host.Close(ctx) }

// Done returns a channel that is closed when the lock has ended. Err then tells the cause.
func (l *Lock) Done() <-chan struct{} { return l.host.Done() }

// Err returns nil until Done is closed.
func (l *Lock) Err() error { return l.host.Err() }
