package contenders_test

// Whatever observes, here or in a recipe, is an actor that is restarted and given up on its own.

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
	"github.com/troupe-go/troupe/internal/test/bubble"
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

// observed tells, whenever it is asked, the newest that came, in short.
func observed[T any](w *world, c <-chan T) (state func() string) {
	return func() (last string) {
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
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
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
			return observed(w, must(naming.New(w.s, "/names")).Observe(ctx, strings.TrimPrefix(path, "/names/")))
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
			return observed(w, must(barrier.New(w.s, path)).Observe(ctx))
		},
		first: func(*world, string) {},
		then:  func(w *world, path string) { w.create(path, "") },
		sees:  "Raised:true",
	},
	"barrier.Lowered": {
		kind: "barrier waiter",
		begin: func(w *world, ctx context.Context, path string) func() string {
			return observed(w, must(barrier.New(w.s, path)).Lowered(ctx))
		},
		first: func(w *world, path string) { w.create(path, "") },
		then:  func(w *world, path string) { require.NoError(w, w.s.Delete(w.Context(), path, -1)) },
		sees:  "closed",
	},
	"group.Observe": {
		kind: "group view",
		begin: func(w *world, ctx context.Context, path string) func() string {
			return observed(w, must(group.New(w.s, path)).Observe(ctx))
		},
		first: func(w *world, path string) { w.create(path+"/one", "", session.Ephemeral()) },
		then:  func(w *world, path string) { w.create(path+"/two", "", session.Ephemeral()) },
		sees:  "ID:two",
	},
	"election.Observe": {
		kind: "election view",
		begin: func(w *world, ctx context.Context, path string) func() string {
			return observed(w, must(election.New(w.s, path)).Observe(ctx))
		},
		first: func(*world, string) {},
		then: func(w *world, path string) {
			e := must(election.New(w.s, path, election.WithID("she")))
			w.Cleanup(func() { _ = e.Close(context.Background()) })
			e.Campaign()
			<-e.Leader()
		},
		sees: "ID:she",
	},
	"lock.Observe": {
		kind: "lock view",
		begin: func(w *world, ctx context.Context, path string) func() string {
			return observed(w, must(lock.New(w.s, path)).Observe(ctx))
		},
		first: func(*world, string) {},
		then: func(w *world, path string) {
			_, err := must(lock.New(w.s, path)).Lock(w.Context())
			require.NoError(w, err)
		},
		sees: "Holding:true",
	},
	"contenders.Observe": {
		kind: "line view",
		begin: func(w *world, ctx context.Context, path string) func() string {
			return observed(w, contenders.Observe(ctx, w.s, path))
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
			followed := must(fence.Follow(ctx, w.s, q))
			return func() string { synctest.Wait(); return fmt.Sprint(context.Cause(followed)) }
		},
		first: func(w *world, path string) { w.create(path, "", session.Ephemeral()) },
		then:  func(w *world, path string) { require.NoError(w, w.s.Delete(w.Context(), path, -1)) },
		sees:  fence.ErrFenced.Error(),
	},
}

// Whatever panics while it observes is restarted, and goes on; one that panics again and again is
// given up: what it feeds closes. Nothing else in the tree is touched.
func TestAPanicInAnObservationDisturbsNothingElse(t *testing.T) {
	t.Parallel()
	for name, subject := range subjects {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				const path, sibling = "/names/here", "/names/beside"
				shown := subject.kind + " " + path
				ctx, prod := prods(w.Context())
				ctx, cancel := context.WithCancel(ctx)
				subject.first(w, path)
				subject.first(w, sibling)
				state, beside := subject.begin(w, ctx, path), subject.begin(w, w.Context(), sibling)
				state()
				beside()
				before := w.restarts()
				require.Contains(w, before, shown, "the tree shows it")
				require.Contains(w, before, subject.kind+" "+sibling)
				require.Equal(w, 1, prod(func() { panic("on purpose") }))
				time.Sleep(time.Minute)
				before[shown]++
				require.Equal(w, before, w.restarts(), "nothing else is touched")
				require.EqualValues(w, 1, w.s.Status().Epoch)

				often, prod := prods(w.Context())
				over := subject.begin(w, often, path)
				over()
				for range 20 {
					prod(func() { panic("on purpose") })
					synctest.Wait()
				}
				time.Sleep(time.Minute)
				require.Zero(w, prod(func() {}), "it is gone")
				switch name {
				case "fence.Follow":
					require.Contains(w, over(), session.ErrRestarted.Error())
				case "barrier.Lowered": // it is not known to be down
					require.Empty(w, over())
				default:
					require.Contains(w, over(), "closed")
				}
				require.Equal(w, before, w.restarts(), "nothing else is")

				subject.then(w, path)
				subject.then(w, sibling)
				require.Contains(w, state(), subject.sees)
				require.Contains(w, beside(), subject.sees)
				cancel()
				require.NotContains(w, w.restarts(), shown)
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

// prods lets a test run code in the observers that are started with a context.
func prods(ctx context.Context) (with context.Context, do func(f func()) (reached int)) {
	var all []func(func()) bool
	return context.WithValue(ctx, observe.Started{}, func(run func(func()) bool) { all = append(all, run) }), func(f func()) (reached int) {
		for _, run := range all {
			if run(f) {
				reached++
			}
		}
		return reached
	}
}
