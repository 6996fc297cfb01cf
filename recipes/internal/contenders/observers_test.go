package contenders_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/barrier"
	"github.com/troupe-go/troupe/recipes/config"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/fence"
	"github.com/troupe-go/troupe/recipes/group"
	"github.com/troupe-go/troupe/recipes/internal/contenders"
	"github.com/troupe-go/troupe/recipes/internal/observe"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/recipes/naming"
	"github.com/troupe-go/troupe/session"
)

// world is a bubble with a session in a tree of actors that can be looked at.
type world struct {
	*bubble.World
	s *session.Session
}

func inBubble(t *testing.T, f func(w *world), opts ...session.Option) {
	t.Helper()
	bubble.Run(t, func(w *bubble.World) { f(&world{w, w.Session(opts...)}) })
}

// create makes a znode, with all above it.
func (w *world) create(path, data string, opts ...session.CreateOption) {
	w.Helper()
	_, err := w.s.Create(w.Context(), path, []byte(data), append(opts, session.Parents())...)
	require.NoError(w, err)
}

// restarts are those of everything in the tree, by kind and name.
func (w *world) restarts() map[string]int {
	synctest.Wait()
	all := make(map[string]int)
	var walk func(nodes []actors.Node)
	walk = func(nodes []actors.Node) {
		for _, n := range nodes {
			all[n.Kind+" "+n.Name] += n.Restarts
			walk(n.Children)
		}
	}
	walk(w.System().Tree())
	return all
}

// shown is the newest that came, in short.
func shown[T any](w *world, c <-chan T) (last string) {
	synctest.Wait()
	for {
		select {
		case v, open := <-c:
			if !open {
				return last + "closed"
			}
			last = fmt.Sprintf("%+v", v)
		default:
			return last
		}
	}
}

// subject is one of those that observe.
type subject struct {
	kind  string // in the tree
	begin func(w *world, ctx context.Context, path string) (state func() string)
	first func(w *world, path string) // what is there
	then  func(w *world, path string) // happens behind the panic
	sees  string                      // part of the state after that
}

var subjects = map[string]subject{
	"naming.Observe": {
		kind: "binding",
		begin: func(w *world, ctx context.Context, path string) func() string {
			n, err := naming.New(w.s, "/names")
			require.NoError(w, err)
			c := n.Observe(ctx, strings.TrimPrefix(path, "/names/"))
			return func() string { return shown(w, c) }
		},
		first: func(w *world, path string) { w.create(path, "one") },
		then: func(w *world, path string) {
			_, err := w.s.Set(w.Context(), path, []byte{1, 2, 3}, -1)
			require.NoError(w, err)
		},
		sees: "[1 2 3]",
	},
	"barrier.Observe": {
		kind: "barrier view",
		begin: func(w *world, ctx context.Context, path string) func() string {
			b, err := barrier.New(w.s, path)
			require.NoError(w, err)
			c := b.Observe(ctx)
			return func() string { return shown(w, c) }
		},
		first: func(*world, string) {},
		then:  func(w *world, path string) { w.create(path, "") },
		sees:  "Raised:true",
	},
	"barrier.Lowered": {
		kind: "barrier waiter",
		begin: func(w *world, ctx context.Context, path string) func() string {
			b, err := barrier.New(w.s, path)
			require.NoError(w, err)
			c := b.Lowered(ctx)
			return func() string { return shown(w, c) }
		},
		first: func(w *world, path string) { w.create(path, "") },
		then:  func(w *world, path string) { require.NoError(w, w.s.Delete(w.Context(), path, -1)) },
		sees:  "closed",
	},
	"group.Observe": {
		kind: "group view",
		begin: func(w *world, ctx context.Context, path string) func() string {
			g, err := group.New(w.s, path)
			require.NoError(w, err)
			c := g.Observe(ctx)
			return func() string { return shown(w, c) }
		},
		first: func(w *world, path string) { w.create(path+"/one", "", session.Ephemeral()) },
		then:  func(w *world, path string) { w.create(path+"/two", "", session.Ephemeral()) },
		sees:  "ID:two",
	},
	"election.Observe": {
		kind: "election view",
		begin: func(w *world, ctx context.Context, path string) func() string {
			e, err := election.New(w.s, path)
			require.NoError(w, err)
			c := e.Observe(ctx)
			return func() string { return shown(w, c) }
		},
		first: func(*world, string) {},
		then: func(w *world, path string) {
			e, err := election.New(w.s, path, election.WithID("she"))
			require.NoError(w, err)
			w.Cleanup(func() { _ = e.Close(context.Background()) })
			e.Campaign()
			<-e.Leader()
		},
		sees: "ID:she",
	},
	"lock.Observe": {
		kind: "lock view",
		begin: func(w *world, ctx context.Context, path string) func() string {
			l, err := lock.New(w.s, path)
			require.NoError(w, err)
			c := l.Observe(ctx)
			return func() string { return shown(w, c) }
		},
		first: func(*world, string) {},
		then: func(w *world, path string) {
			l, err := lock.New(w.s, path)
			require.NoError(w, err)
			_, err = l.Lock(w.Context())
			require.NoError(w, err)
		},
		sees: "Holding:true",
	},
	"lock.Observe, simple": {
		kind: "lock view",
		begin: func(w *world, ctx context.Context, path string) func() string {
			l, err := lock.New(w.s, path, lock.WithLayout(lock.Simple))
			require.NoError(w, err)
			c := l.Observe(ctx)
			return func() string { return shown(w, c) }
		},
		first: func(*world, string) {},
		then:  func(w *world, path string) { w.create(path, "", session.Ephemeral()) },
		sees:  "Holding:true",
	},
	"contenders.Observe": {
		kind: "line view",
		begin: func(w *world, ctx context.Context, path string) func() string {
			c := contenders.Observe(ctx, w.s, path)
			return func() string { return shown(w, c) }
		},
		first: func(*world, string) {},
		then:  func(w *world, path string) { w.create(path+"/lock-", "", session.Ephemeral(), session.Sequential()) },
		sees:  "lock-0000000000",
	},
	"fence.Follow": {
		kind: "fence",
		begin: func(w *world, ctx context.Context, path string) func() string {
			stat, exists, err := w.s.Exists(w.Context(), path)
			require.True(w, exists)
			require.NoError(w, err)
			q := fence.Sequencer{Path: path, Mode: fence.Exclusive, Token: stat.Czxid, SessionID: stat.EphemeralOwner}
			followed, err := fence.Follow(ctx, w.s, q)
			require.NoError(w, err)
			return func() string { synctest.Wait(); return fmt.Sprint(context.Cause(followed)) }
		},
		first: func(w *world, path string) { w.create(path, "", session.Ephemeral()) },
		then:  func(w *world, path string) { require.NoError(w, w.s.Delete(w.Context(), path, -1)) },
		sees:  fence.ErrFenced.Error(),
	},
}

// Whatever panics while it observes is restarted, and goes on; nothing else in the tree is touched.
func TestAPanicInAnObservationDisturbsNothingElse(t *testing.T) {
	t.Parallel()
	for name, subject := range subjects {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				const path, sibling = "/names/here", "/names/beside"
				ctx, prod := observe.WithProd(w.Context())
				ctx, cancel := context.WithCancel(ctx)
				subject.first(w, path)
				subject.first(w, sibling)
				state, beside := subject.begin(w, ctx, path), subject.begin(w, w.Context(), sibling)
				state()
				beside()
				before := w.restarts()
				require.Contains(w, before, subject.kind+" "+path, "the tree shows it")
				require.Contains(w, before, subject.kind+" "+sibling)
				require.Equal(w, 1, prod.Do(func() { panic("on purpose") }))
				time.Sleep(time.Minute)
				after := w.restarts()
				require.Equal(w, before[subject.kind+" "+path]+1, after[subject.kind+" "+path])
				after[subject.kind+" "+path]--
				require.Equal(w, before, after, "nothing else is touched")
				require.Equal(w, session.Connected, w.s.Status().State)
				require.EqualValues(w, 1, w.s.Status().Epoch)

				subject.then(w, path)
				subject.then(w, sibling)
				require.Contains(w, state(), subject.sees)
				require.Contains(w, beside(), subject.sees)
				cancel()
				require.NotContains(w, w.restarts(), subject.kind+" "+path)
			})
		})
	}
}

// One that panics again and again is given up: what it feeds closes, and nothing else does.
func TestAnObservationThatPanicsTooOftenIsGivenUp(t *testing.T) {
	t.Parallel()
	for name, subject := range subjects {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				const path, sibling = "/names/here", "/names/beside"
				ctx, prod := observe.WithProd(w.Context())
				subject.first(w, path)
				subject.first(w, sibling)
				state, beside := subject.begin(w, ctx, path), subject.begin(w, w.Context(), sibling)
				state()
				beside()
				for range 20 {
					prod.Do(func() { panic("on purpose") })
					synctest.Wait()
				}
				time.Sleep(time.Minute)
				require.Zero(w, prod.Do(func() {}), "it is gone")
				if name == "fence.Follow" {
					require.Contains(w, state(), session.ErrRestarted.Error())
				} else {
					require.Contains(w, state(), "closed")
				}
				require.NotContains(w, w.restarts(), subject.kind+" "+path)
				subject.then(w, sibling)
				require.Contains(w, beside(), subject.sees)
			})
		})
	}
}

// quitter is a codec that ends the goroutine it is called on, as a failed assertion does, which
// nobody can recover: so it is the cell's actor that fails.
type quitter struct {
	config.Codec[string]
	quits *atomic.Int32 // so many times
}

func (q quitter) Decode(data []byte) (string, error) {
	if q.quits.Add(-1) >= 0 {
		runtime.Goexit()
	}
	return q.Codec.Decode(data)
}

func TestACellWhoseActorFailsGoesOn(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		var quits atomic.Int32
		cell, err := config.Open[string](w.Context(), w.s, "/cell", quitter{config.JSON[string](), &quits})
		require.NoError(w, err)
		beside, err := config.Open(w.Context(), w.s, "/cell", config.JSON[string]())
		require.NoError(w, err)
		quits.Store(1)
		w.create("/cell", `"one"`)
		synctest.Wait()
		require.Equal(w, "one", beside.Load().Value)
		time.Sleep(time.Minute)
		require.Equal(w, 1, w.restarts()["config /cell"])
		require.Equal(w, "one", cell.Load().Value, "it looks again")
		quits.Store(100)
		_, err = w.s.Set(w.Context(), "/cell", []byte(`"two"`), -1)
		require.NoError(w, err)
		<-cell.Done()
		synctest.Wait()
		require.ErrorIs(w, cell.Err(), session.ErrRestarted)
		require.Equal(w, "two", beside.Load().Value)
		require.NoError(w, cell.Close(w.Context()))
		require.NoError(w, beside.Close(w.Context()))
		require.NotContains(w, w.restarts(), "config /cell")
	})
}
