package interop_test

// Promises about contenders: exclusion, their order, and what becomes of the others when one gives
// up or dies. "Theirs" are the recipes of other libraries, by name. Contenders of ours and theirs:
// contenders_test.go; the servers: servers_test.go.

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/session"
)

// side is whether a contender shares with others.
type side int

const (
	alone    side = iota // no other contender holds beside this one
	together             // others that are together may hold beside this one
)

// contender is one participant in a queue, of any library, with a session of its own.
type contender interface {
	name() string
	side() side
	id() int64 // the session's, until end is called
	// acquire waits for at most d, and returns whether it holds; if not, it has left the queue.
	acquire(d time.Duration) (bool, error)
	release() error
	// end closes the session, as the end of a process does: nothing is released first.
	end() error
}

// guard checks that no contender holds beside one that wants to be alone, from after each
// acquisition to before the release.
type guard struct {
	disturb func(nth int) // is called during the nth possession; may be nil

	mu      sync.Mutex
	holders map[string]side
	wrong   []string
	order   []string // the holders in order, for the log
}

// enter is called for a contender that has just acquired.
func (g *guard) enter(c contender) {
	g.mu.Lock()
	for other, s := range g.holders {
		if s == alone || c.side() == alone {
			g.wrong = append(g.wrong, c.name()+" holds beside "+other)
		}
	}
	if g.holders == nil {
		g.holders = map[string]side{}
	}
	g.holders[c.name()] = c.side()
	g.order = append(g.order, c.name())
	nth := len(g.order)
	g.mu.Unlock()
	if g.disturb != nil {
		g.disturb(nth)
	}
}

// leave is called for a contender that is about to release.
func (g *guard) leave(c contender) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.holders, c.name())
}

// fault records that a disturbance has failed.
func (g *guard) fault(what string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.wrong = append(g.wrong, what)
}

// contend lets all contenders hold again and again, while some give up early. It checks exclusion,
// that none is stuck, and that nothing is left.
func (g *guard) contend(t *testing.T, s *session.Session, queue string, rounds int, contenders ...contender) {
	t.Helper()
	seed := tier.Seed(t.Name())
	tier.Again(t, seed)
	var wg sync.WaitGroup
	failures := make(chan error, len(contenders))
	for i, c := range contenders {
		wg.Go(func() { failures <- g.holdAgain(s, c, rounds, rand.New(rand.NewPCG(seed, uint64(i)))) })
	}
	wg.Wait() // holdAgain is bounded
	close(failures)
	for err := range failures {
		require.NoError(t, err, "the queue: %v", contendersAt(t, s, queue))
	}
	require.Empty(t, g.wrong, "two holders; the order was %v", g.order)
	awaitContenders(t, s, queue, 0)
	for _, c := range contenders {
		if _, hasty := c.(impatient); !hasty {
			require.Contains(t, g.order, c.name(), "everybody has held")
		}
	}
}

// impatient never waits long: its library can get stuck by itself.
type impatient struct{ contender }

func (i impatient) acquire(d time.Duration) (bool, error) {
	return i.contender.acquire(min(d, 200*time.Millisecond))
}

// holdAgain lets a contender acquire once a round, and release. In a quarter of the rounds it gives
// up after at most 30 ms; otherwise it is stuck if it does not hold after patience.
func (g *guard) holdAgain(s *session.Session, c contender, rounds int, rnd *rand.Rand) error {
	_, mayFail := c.(impatient)
	for round := range rounds {
		wait := patience
		if round > 0 && rnd.IntN(4) == 0 {
			wait = time.Duration(1+rnd.IntN(30)) * time.Millisecond
		}
		held, err := c.acquire(wait)
		switch {
		case err != nil:
			return fmt.Errorf("%s: acquire: %w", c.name(), err)
		case !held && wait == patience && !mayFail:
			return fmt.Errorf("%s: stuck in round %d", c.name(), round)
		case !held:
			continue
		}
		g.enter(c)
		ctx, cancel := patiently()
		unsynced := s.Sync(ctx, "/") // so that the possession lasts a moment
		cancel()
		g.leave(c)
		if err := errors.Join(unsynced, c.release()); err != nil {
			return fmt.Errorf("%s: sync or release: %w", c.name(), err)
		}
	}
	return nil
}

// contendersAt returns the names of the contenders in a queue.
func contendersAt(t *testing.T, s *session.Session, queue string) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	defer cancel()
	require.NoError(t, s.Sync(ctx, "/"))
	names, _, err := s.Children(ctx, queue)
	if err != nil {
		require.ErrorIs(t, err, session.ErrNoNode)
	}
	slices.Sort(names)
	return names
}

// each runs a test for each of their recipes. The test takes its paths from pathFor.
func each[T any](t *testing.T, theirs map[string]T, f func(t *testing.T, theirs T)) {
	t.Helper()
	for name, one := range theirs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, one)
		})
	}
}

// onEach runs a test for each of their recipes, on each server of onBoth.
func onEach[T any](t *testing.T, theirs map[string]T, f func(t *testing.T, s *session.Session, address, path string, theirs T)) {
	t.Helper()
	onBoth(t, func(t *testing.T, address string) {
		s := open(t, address)
		each(t, theirs, func(t *testing.T, one T) { f(t, s, address, pathFor(t), one) })
	})
}

// only returns those of their recipes that have these names.
func only[T any](theirs map[string]T, names ...string) map[string]T {
	some := make(map[string]T)
	for _, name := range names {
		some[name] = theirs[name]
	}
	return some
}

// pathFor returns a path that no other test uses.
func pathFor(t *testing.T) string {
	t.Helper()
	return "/" + strings.NewReplacer("/", "_", "#", "_", " ", "_", "'", "").Replace(t.Name())
}

// begin acquires in the background.
func begin(c contender) <-chan error {
	return bubble.Begin(func() error { // ends with the acquisition, which is bounded
		held, err := c.acquire(patience)
		if !held && err == nil {
			err = fmt.Errorf("%s: stuck", c.name())
		}
		return err
	})
}

func holds(t *testing.T, c contender) {
	t.Helper()
	require.NoError(t, <-begin(c))
}

// awaitContenders waits until a path has n contenders; some libraries delete in the background.
func awaitContenders(t *testing.T, s *session.Session, path string, n int) {
	t.Helper()
	ctx, cancel := patiently()
	defer cancel()
	for c := range s.WatchChildren(ctx, path) {
		if !c.Stale && len(c.Names) == n {
			return
		}
	}
	require.Fail(t, "not in time", "want %d contenders: %v", n, contendersAt(t, s, path))
}

// must returns v. An error while a test is arranged is a panic.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
