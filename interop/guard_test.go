package interop_test

// What is told of contenders: that nobody holds beside another, in which order they hold, and what
// becomes of the others when one gives up or dies.

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/session"
)

// side is what a contender wants.
type side int

const (
	alone    side = iota // nobody else beside it
	together             // others of the same side may be
)

// contender is one participant in a line, of whatever library, with a session of its own.
type contender interface {
	name() string
	side() side
	id() int64 // the session's, while it has not ended
	// acquire waits for at most d, and says whether it holds; if not, it has left the line.
	acquire(d time.Duration) (bool, error)
	release() error
	// end closes the session, as the end of a process does: nothing is released first.
	end() error
	// mark creates an ephemeral znode of the contender's session, unmark deletes it, and seen lists
	// what stands beside it.
	mark(path string) error
	unmark(path string) error
	seen(path string) ([]string, error)
}

// guard watches that nobody holds beside somebody who wants to be alone. It looks twice: in this
// process, from after each acquisition to before the release; and in ZooKeeper, where each holder
// shows itself with its own session, and then looks for others.
type guard struct {
	path    string        // of the holders' marks
	disturb func(nth int) // is called while somebody holds for the nth time; may be nil

	mu      sync.Mutex
	holders map[string]side
	wrong   []string
	order   []string // who held, in order, for the log
}

func newGuard(t *testing.T, s *session.Session, path string) *guard {
	t.Helper()
	require.NoError(t, s.EnsurePath(t.Context(), path))
	return &guard{path: path, holders: map[string]side{}}
}

// enter is called by who has just acquired, leave by who is about to release.
func (g *guard) enter(c contender) error {
	g.mu.Lock()
	for other, s := range g.holders {
		if s == alone || c.side() == alone {
			g.wrong = append(g.wrong, c.name()+" holds beside "+other)
		}
	}
	g.holders[c.name()] = c.side()
	g.order = append(g.order, c.name())
	nth := len(g.order)
	g.mu.Unlock()
	if g.disturb != nil {
		g.disturb(nth)
	}

	mark := "together-" + c.name()
	if c.side() == alone {
		mark = "alone-" + c.name()
	}
	if err := c.mark(g.path + "/" + mark); err != nil {
		return fmt.Errorf("%s: mark: %w", c.name(), err)
	}
	marks, err := c.seen(g.path)
	if err != nil {
		return fmt.Errorf("%s: look: %w", c.name(), err)
	}
	for _, other := range marks {
		if other != mark && (strings.HasPrefix(other, "alone-") || c.side() == alone) {
			g.fault(c.name() + " found in ZooKeeper " + other)
		}
	}
	return nil
}

func (g *guard) leave(c contender) error {
	mark := "together-" + c.name()
	if c.side() == alone {
		mark = "alone-" + c.name()
	}
	if err := c.unmark(g.path + "/" + mark); err != nil {
		return fmt.Errorf("%s: unmark: %w", c.name(), err)
	}
	g.forget(c)
	return nil
}

func (g *guard) forget(c contender) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.holders, c.name())
}

func (g *guard) fault(what string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.wrong = append(g.wrong, what)
}

// verdict fails the test if two held what only one may.
func (g *guard) verdict(t *testing.T) {
	t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	require.Empty(t, g.wrong, "two holders; the order was %v", g.order)
}

// contend has all contenders hold again and again, some of them giving up early, and sees that
// nobody is stuck and nothing is left.
func contend(t *testing.T, s *session.Session, line string, rounds int, contenders ...contender) {
	t.Helper()
	newGuard(t, s, line+"-guard").contend(t, s, line, rounds, contenders...)
}

func (g *guard) contend(t *testing.T, s *session.Session, line string, rounds int, contenders ...contender) {
	t.Helper()
	seed := tier.Seed(t.Name())
	tier.Again(t, seed)
	var wg sync.WaitGroup
	failures := make(chan error, len(contenders))
	for i, c := range contenders {
		wg.Go(func() { failures <- holdAgain(g, c, rounds, rand.New(rand.NewPCG(seed, uint64(i)))) })
	}
	wg.Wait() // every acquisition is bounded
	close(failures)
	for err := range failures {
		require.NoError(t, err, "the line: %v", standing(t, s, line))
	}
	g.verdict(t)
	empty(t, s, line)
	for _, c := range contenders {
		if _, hasty := c.(impatient); !hasty {
			require.Contains(t, g.order, c.name(), "everybody has held")
		}
	}
}

// impatient never waits long: its library can get stuck in a line by itself, and is not to be
// waited for.
type impatient struct{ contender }

func (i impatient) acquire(d time.Duration) (bool, error) {
	return i.contender.acquire(min(d, 200*time.Millisecond))
}

func holdAgain(g *guard, c contender, rounds int, rnd *rand.Rand) error {
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
		if err := g.enter(c); err != nil {
			return err
		}
		if err := g.leave(c); err != nil {
			return err
		}
		if err := c.release(); err != nil {
			return fmt.Errorf("%s: release: %w", c.name(), err)
		}
	}
	return nil
}

// standing is who is in the line.
func standing(t *testing.T, s *session.Session, line string) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	defer cancel()
	require.NoError(t, s.Sync(ctx, "/"))
	names, _, err := s.Children(ctx, line)
	if err != nil {
		require.ErrorIs(t, err, session.ErrNoNode)
	}
	slices.Sort(names)
	return names
}

// each runs a test for each of their recipes, on paths of its own.
func each[T any](t *testing.T, theirs map[string]T, f func(t *testing.T, theirs T)) {
	t.Helper()
	for name, one := range theirs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, one)
		})
	}
}

// onEach runs a test for each of their recipes, on each server.
func onEach[T any](t *testing.T, theirs map[string]T, f func(t *testing.T, s *session.Session, address, path string, theirs T)) {
	t.Helper()
	onBoth(t, func(t *testing.T, address string) {
		s := open(t, address)
		each(t, theirs, func(t *testing.T, one T) { f(t, s, address, pathFor(t), one) })
	})
}

// only are some of them.
func only[T any](theirs map[string]T, names ...string) map[string]T {
	some := make(map[string]T)
	for _, name := range names {
		some[name] = theirs[name]
	}
	return some
}

// pathFor is a path that no other test uses.
func pathFor(t *testing.T) string {
	t.Helper()
	return "/" + strings.NewReplacer("/", "_", "#", "_", " ", "_", "'", "").Replace(t.Name())
}

// outcome is what came of an acquisition.
type outcome struct {
	held bool
	err  error
}

// begin acquires in the background.
func begin(c contender) <-chan outcome {
	done := make(chan outcome, 1)
	go func() { // ends with the acquisition, which is bounded
		held, err := c.acquire(patience)
		if !held && err == nil {
			err = fmt.Errorf("%s: stuck", c.name())
		}
		done <- outcome{held, err}
	}()
	return done
}

func holds(t *testing.T, c contender) {
	t.Helper()
	require.NoError(t, (<-begin(c)).err)
}

// inLine waits until n contenders stand there.
func inLine(t *testing.T, s *session.Session, path string, n int) {
	t.Helper()
	ctx, cancel := patiently()
	defer cancel()
	require.NoError(t, awaitLine(ctx, s, path, n), "%d in %v", n, standing(t, s, path))
}

// empty waits until nobody stands there: some delete in the background.
func empty(t *testing.T, s *session.Session, path string) {
	t.Helper()
	inLine(t, s, path, 0)
}

// arrivals lines everybody up, and then each releases: the next that arrived must be the next that
// holds.
func arrivals(t *testing.T, s *session.Session, path string, contenders ...contender) {
	t.Helper()
	var waiting []<-chan outcome
	for i, c := range contenders {
		waiting = append(waiting, begin(c))
		inLine(t, s, path, i+1)
		if f, ok := c.(*foreign); ok && i > 0 {
			f.ready(t)
		}
	}
	for i, c := range contenders {
		require.NoError(t, (<-waiting[i]).err)
		inLine(t, s, path, len(contenders)-i)
		for j := range contenders[i+1:] {
			require.Empty(t, waiting[i+1+j], "%s holds while %s does", contenders[i+1+j].name(), c.name())
		}
		require.NoError(t, c.release())
	}
	empty(t, s, path)
}

// givesUp has the middle one of three leave the line: the last must go on waiting for the holder.
func givesUp(t *testing.T, s *session.Session, path string, holder, middle, last contender) {
	t.Helper()
	holds(t, holder)
	gaveUp := make(chan outcome, 1)
	go func() { // ends with the acquisition, which is bounded
		held, err := middle.acquire(2 * time.Second)
		gaveUp <- outcome{held, err}
	}()
	inLine(t, s, path, 2)
	waiting := begin(last)
	inLine(t, s, path, 3)
	require.Equal(t, outcome{}, <-gaveUp)
	inLine(t, s, path, 2)
	require.NoError(t, s.Sync(t.Context(), path))
	require.Empty(t, waiting, "%s holds while %s does", last.name(), holder.name())
	require.NoError(t, holder.release())
	require.NoError(t, (<-waiting).err)
	require.NoError(t, last.release())
	empty(t, s, path)
}

// dies ends the holder's session, as the end of its process does.
func dies(t *testing.T, s *session.Session, path string, holder, next contender) {
	t.Helper()
	holds(t, holder)
	waiting := begin(next)
	inLine(t, s, path, 2)
	require.NoError(t, holder.end())
	require.NoError(t, (<-waiting).err)
	require.NoError(t, next.release())
	empty(t, s, path)
}

// awaitLine waits until n contenders stand in a line.
func awaitLine(ctx context.Context, s *session.Session, path string, n int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for c := range s.WatchChildren(ctx, path) {
		if !c.Stale && len(c.Names) == n {
			return nil
		}
	}
	return context.Cause(ctx)
}
