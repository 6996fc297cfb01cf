package recipe_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/barrier"
	"github.com/troupe-go/troupe/recipes/group"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/recipes/naming"
	"github.com/troupe-go/troupe/session"
)

// handle is what every handle has.
type handle interface {
	Close(ctx context.Context) error
	Done() <-chan struct{}
	Err() error
}

// A handle without anything of its own in ZooKeeper ends by Close or with its session: what waits
// ends with session.ErrClosed, observers' channels close, and later calls are refused.
func TestAHandleEndsByCloseOrWithItsSession(t *testing.T) {
	t.Parallel()
	type calls struct {
		handle
		wait    func(ctx context.Context) error // nil: nothing waits
		ask     func(ctx context.Context) error
		watches func(ctx context.Context) <-chan struct{} // closes with the observer
	}
	drained := func(next func() bool) <-chan struct{} {
		over := make(chan struct{})
		go func() { // ends with the observer
			defer close(over)
			for next() {
			}
		}()
		return over
	}
	for name, open := range map[string]func(t *bubble.World, s *session.Session) calls{
		"barrier": func(t *bubble.World, s *session.Session) calls {
			b, err := barrier.New(s, "/b")
			require.NoError(t, err)
			require.NoError(t, b.Raise(bubble.Minute(t)))
			return calls{b, b.Wait, b.Raise, func(ctx context.Context) <-chan struct{} {
				c := b.Observe(ctx)
				return drained(func() bool { _, open := <-c; return open })
			}}
		},
		"names": func(t *bubble.World, s *session.Session) calls {
			n, err := naming.New(s, "/n")
			require.NoError(t, err)
			return calls{n, nil, func(ctx context.Context) error { return n.Bind(ctx, "a", []byte("x")) }, func(ctx context.Context) <-chan struct{} {
				c := n.Observe(ctx, "a")
				return drained(func() bool { _, open := <-c; return open })
			}}
		},
		"group": func(t *bubble.World, s *session.Session) calls {
			g, err := group.New(s, "/g")
			require.NoError(t, err)
			m, err := g.Join(group.Member{ID: "a"})
			require.NoError(t, err)
			return calls{g, func(context.Context) error { <-m.Done(); return m.Err() }, func(context.Context) error {
				_, err := g.Join(group.Member{ID: "b"})
				return err
			}, func(ctx context.Context) <-chan struct{} {
				c := g.Observe(ctx)
				return drained(func() bool { _, open := <-c; return open })
			}}
		},
		"multi": func(t *bubble.World, s *session.Session) calls {
			var locks []*lock.Lock
			for _, path := range []string{"/x", "/y"} {
				l, err := lock.New(s, path)
				require.NoError(t, err)
				locks = append(locks, l)
			}
			m, err := lock.NewMulti(locks...)
			require.NoError(t, err)
			g, err := m.Lock(bubble.Minute(t))
			require.NoError(t, err)
			return calls{m, func(ctx context.Context) error { _, err := m.Lock(ctx); return err }, func(ctx context.Context) error {
				_, err := m.TryLock(ctx)
				return err
			}, func(context.Context) <-chan struct{} { return g.Done() }}
		},
	} {
		for how, end := range map[string]func(ctx context.Context, h handle, s *session.Session) error{
			"closed":             func(ctx context.Context, h handle, _ *session.Session) error { return h.Close(ctx) },
			"its session closed": func(ctx context.Context, _ handle, s *session.Session) error { return s.Close(ctx) },
		} {
			t.Run(name+", "+how, func(t *testing.T) {
				t.Parallel()
				bubble.Run(t, func(t *bubble.World) {
					s, ctx := t.Session(), bubble.Minute(t)
					h := open(t, s)
					require.NoError(t, h.Err())
					observed := h.watches(t.Context())
					waits := make(chan error, 1)
					if h.wait != nil {
						go func() { waits <- h.wait(t.Context()) }() // ends with the handle
					}
					time.Sleep(time.Second)
					require.NoError(t, end(ctx, h, s))
					bubble.Closed(t, observed, "the observer")
					if h.wait != nil {
						require.ErrorIs(t, bubble.Get(t, waits, "the wait"), session.ErrClosed)
					}
					if name != "multi" || how == "closed" {
						bubble.Closed(t, h.Done(), "the handle")
						require.ErrorIs(t, h.Err(), session.ErrClosed)
					}
					synctest.Wait()
					t.Server.ClearJournal()
					for range 20 { // the end of its context and the call would run side by side
						require.ErrorIs(t, h.ask(ctx), session.ErrClosed)
					}
					require.Empty(t, t.Server.Journal(), "what has ended asks ZooKeeper for nothing")
					require.NoError(t, errors.Join(h.Close(ctx), h.Close(ctx)))
					if how == "closed" {
						require.Equal(t, session.Connected, s.Status().State)
					}
				})
			})
		}
	}
}

// A call gives back what it has taken of a context that lasts.
func TestACallLeavesNothingOnItsContext(t *testing.T) {
	h := recipe.NewHandle(nil, "x", "/x")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	call := func() {
		_, leave := h.Within(ctx)
		leave()
	}
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	for range 100_000 {
		call()
	}
	require.Less(t, heap()-before, int64(1<<20))
}
