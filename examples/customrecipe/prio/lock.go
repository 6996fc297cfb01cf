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

// Lock is one side of the lock, with one priority. It holds it once at a time; several callers wait
// for one another.
type Lock struct {
	host *recipe.Host
	path string
	turn chan struct{} // of the callers: full while one of them has a claim

	mu    sync.Mutex // the record: written before the host is told
	last  uint64
	claim *claim
}

// claim is one caller's wish, and what has come of it.
type claim struct {
	want    want
	given   bool       // it was given up
	refused bool       // ZooKeeper refused something
	answer  chan error // buffered; nil: grant is set
	grant   *Grant
	gone    chan struct{} // closes when nothing of it is left in ZooKeeper
}

// Grant is the lock, held. It embeds the session's Hold: Done, Err, Context, Token, Commit.
type Grant struct {
	*session.Hold

	lock    *Lock
	claim   *claim
	revoked chan struct{}
}

// New makes one side of the lock at a path. priority is 0, the best, to 999. It does no I/O.
func New(s *session.Session, path string, m Mode, priority int) (*Lock, error) {
	switch {
	case s == nil:
		return nil, errors.New("prio.New: s is nil")
	case !strings.HasPrefix(path, "/") || path == "/":
		return nil, fmt.Errorf("prio.New: path %q: %w", path, session.ErrInvalidPath)
	case m != Read && m != Write:
		return nil, fmt.Errorf("prio.New: m is %d, neither Read nor Write", m)
	case priority < best || priority > worst:
		return nil, fmt.Errorf("prio.New: priority %d is not between %d and %d", priority, best, worst)
	}
	l := &Lock{path: path, turn: make(chan struct{}, 1)}
	var err error
	l.host, err = recipe.New(recipe.Config{
		Session: s, Kind: "priority lock", Path: path,
		Machine:  func() machine.Machine { return newMachine(path, m, priority) },
		Standing: l.standing, Perform: l.perform, Ended: l.ended,
	})
	return l, err
}

// Lock waits until it is held. If ctx ends first, nothing is left in the line.
func (l *Lock) Lock(ctx context.Context) (*Grant, error) {
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-l.host.Done():
		return nil, l.host.Err()
	}
	c, wish := l.enter()
	l.host.Tell(wish)
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

// enter writes a new claim into the record.
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

// abandon gives a claim up, waiting or holding. The next caller's turn comes when nothing of it is
// left.
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

// Release gives the lock up, and returns when ZooKeeper has confirmed it. If ctx ends first it goes
// on by itself.
func (g *Grant) Release(ctx context.Context) error {
	l, c := g.lock, g.claim
	l.abandon(c)
	select {
	case <-c.gone:
		return nil
	case <-l.host.Done():
		return nil // the session deletes it
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Revoked closes when somebody of a better priority waits.
func (g *Grant) Revoked() <-chan struct{} { return g.revoked }

// Close gives everything up and ends the lock.
func (l *Lock) Close(ctx context.Context) error { return l.host.Close(ctx) }

// Done closes when the lock is over; Err then says why.
func (l *Lock) Done() <-chan struct{} { return l.host.Done() }

// Err is nil exactly while Done is open.
func (l *Lock) Err() error { return l.host.Err() }
