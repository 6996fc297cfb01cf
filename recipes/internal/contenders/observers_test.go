package contenders_test

// Every observer, here or in a recipe, is an actor. If it panics it alone is restarted, and at last
// given up.

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

// create makes a znode, with all above it.
func create(s *session.Session, path, data string, opts ...session.CreateOption) {
	must(s.Create(context.Background(), path, []byte(data), append(opts, session.Parents())...))
}

// restarts counts the restarts of all actors in the tree, by kind and name.
func restarts(w *bubble.World) map[string]int {
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

// observed returns a function that formats the newest state from a channel.
func observed[T any](c <-chan T) (state func() string) {
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

// must is for a call that has to succeed; for one that returns an error alone: must(0, err).
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// subject is an observer of a recipe.
type subject struct {
	kind  string                                                                           // in the tree
	begin func(ctx context.Context, s *session.Session, path string) (state func() string) // starts it
	first func(s *session.Session, path string)                                            // makes what is there at the beginning
	then  func(s *session.Session, path string)                                            // happens after the restart
	sees  string                                                                           // part of the state after then
}

var subjects = map[string]subject{
	"naming.Observe": {
		kind: "binding",
		begin: func(ctx context.Context, s *session.Session, path string) func() string {
			return observed(must(naming.New(s, "/names")).Observe(ctx, strings.TrimPrefix(path, "/names/")))
		},
		first: func(s *session.Session, path string) { create(s, path, "one") },
		then:  func(s *session.Session, path string) { must(s.Set(context.Background(), path, []byte{1, 2, 3}, -1)) },
		sees:  "[1 2 3]",
	},
	"barrier.Observe": {
		kind: "barrier view",
		begin: func(ctx context.Context, s *session.Session, path string) func() string {
			return observed(must(barrier.New(s, path)).ObserveStatus(ctx))
		},
		first: func(*session.Session, string) {},
		then:  func(s *session.Session, path string) { create(s, path, "") },
		sees:  "Raised:true",
	},
	"barrier.Lowered": {
		kind: "barrier waiter",
		begin: func(ctx context.Context, s *session.Session, path string) func() string {
			return observed(must(barrier.New(s, path)).Lowered(ctx))
		},
		first: func(s *session.Session, path string) { create(s, path, "") },
		then:  func(s *session.Session, path string) { must(0, s.Delete(context.Background(), path, -1)) },
		sees:  "closed",
	},
	"group.Observe": {
		kind: "group view",
		begin: func(ctx context.Context, s *session.Session, path string) func() string {
			return observed(must(group.New(s, path)).Observe(ctx))
		},
		first: func(s *session.Session, path string) { create(s, path+"/one", "", session.Ephemeral()) },
		then:  func(s *session.Session, path string) { create(s, path+"/two", "", session.Ephemeral()) },
		sees:  "Name:two",
	},
	"election.Observe": {
		kind: "election view",
		begin: func(ctx context.Context, s *session.Session, path string) func() string {
			return observed(must(election.New(s, path)).Observe(ctx))
		},
		first: func(*session.Session, string) {},
		then: func(s *session.Session, path string) {
			e := must(election.New(s, path, election.WithName("she")))
			e.Campaign()
			<-e.Leader()
		},
		sees: "Name:she",
	},
	"lock.Observe": {
		kind: "lock view",
		begin: func(ctx context.Context, s *session.Session, path string) func() string {
			return observed(must(lock.New(s, path)).Observe(ctx))
		},
		first: func(*session.Session, string) {},
		then:  func(s *session.Session, path string) { must(must(lock.New(s, path)).Lock(context.Background())) },
		sees:  "Holding:true",
	},
	"contenders.Observe": {
		kind: "line view",
		begin: func(ctx context.Context, s *session.Session, path string) func() string {
			return observed(contenders.Observe(ctx, s, path))
		},
		first: func(*session.Session, string) {},
		then: func(s *session.Session, path string) {
			create(s, path+"/lock-", "", session.Ephemeral(), session.Sequential())
		},
		sees: "lock-0000000000",
	},
	"fence.Follow": {
		kind: "fence",
		begin: func(ctx context.Context, s *session.Session, path string) func() string {
			_, stat, err := s.Get(ctx, path)
			must(0, err)
			q := fence.Sequencer{Path: path, Mode: fence.Exclusive, Token: stat.Czxid, SessionID: stat.EphemeralOwner}
			followed := must(fence.Follow(ctx, s, q))
			return func() string { synctest.Wait(); return fmt.Sprint(context.Cause(followed)) }
		},
		first: func(s *session.Session, path string) { create(s, path, "", session.Ephemeral()) },
		then:  func(s *session.Session, path string) { must(0, s.Delete(context.Background(), path, -1)) },
		sees:  fence.ErrFenced.Error(),
	},
}

// An observer that panics is restarted, and goes on. One that panics again and again is given up,
// and its channel closes. No other actor is affected.
func TestAPanicInAnObservationDisturbsNothingElse(t *testing.T) {
	t.Parallel()
	for name, subject := range subjects {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble.Run(t, func(w *bubble.World) {
				s := w.Session()
				const path, sibling = "/names/here", "/names/beside"
				inTree := subject.kind + " " + path
				subject.first(s, path)
				subject.first(s, sibling)
				ctx, inActor := actorsOf(w.Context())
				ctx, cancel := context.WithCancel(ctx)
				state, beside := subject.begin(ctx, s, path), subject.begin(w.Context(), s, sibling)
				state()
				beside()

				// One panic: it is restarted.
				want := restarts(w)
				require.Contains(w, want, inTree)
				require.Contains(w, want, subject.kind+" "+sibling)
				require.Equal(w, 1, inActor(func() { panic("on purpose") }))
				time.Sleep(time.Minute)
				want[inTree]++
				require.Equal(w, want, restarts(w), "no other actor is restarted")
				require.EqualValues(w, 1, s.Status().Epoch)

				// Twenty panics of another observer: it is given up.
				ctx2, inActor2 := actorsOf(w.Context())
				state2 := subject.begin(ctx2, s, path)
				state2()
				for range 20 {
					inActor2(func() { panic("on purpose") })
					synctest.Wait()
				}
				time.Sleep(time.Minute)
				require.Zero(w, inActor2(func() {}), "its actor is gone")
				switch name {
				case "fence.Follow":
					require.Contains(w, state2(), session.ErrRestarted.Error())
				case "barrier.Lowered": // the channel would say that the barrier is down, which is not known
					require.Empty(w, state2())
				default:
					require.Contains(w, state2(), "closed")
				}
				require.Equal(w, want, restarts(w), "no other actor is restarted, or gone")

				// The restarted one and its sibling go on.
				subject.then(s, path)
				subject.then(s, sibling)
				require.Contains(w, state(), subject.sees)
				require.Contains(w, beside(), subject.sees)
				cancel()
				require.NotContains(w, restarts(w), inTree)
			})
		})
	}
}

// quitter is a codec that ends the goroutine it is called on, as a failed assertion does. That
// cannot be recovered, so the cell's actor fails.
type quitter struct {
	config.Codec[string]
	quits *atomic.Int32 // how many more calls of Decode end their goroutine
}

func (q quitter) Decode(data []byte) (string, error) {
	if q.quits.Add(-1) >= 0 {
		runtime.Goexit()
	}
	return q.Codec.Decode(data)
}

func TestACellWhoseActorFailsGoesOn(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(w *bubble.World) {
		s := w.Session()
		var quits atomic.Int32
		cell, err := config.Open[string](w.Context(), s, "/cell", quitter{config.JSON[string](), &quits})
		require.NoError(w, err)
		beside, err := config.Open(w.Context(), s, "/cell", config.JSON[string]())
		require.NoError(w, err)
		quits.Store(1)
		create(s, "/cell", `"one"`)
		synctest.Wait()
		require.Equal(w, "one", beside.Load().Value)
		time.Sleep(time.Minute)
		require.Equal(w, 1, restarts(w)["config /cell"])
		require.Equal(w, "one", cell.Load().Value, "the restarted actor reads again")
		quits.Store(100)
		_, err = s.Set(w.Context(), "/cell", []byte(`"two"`), -1)
		require.NoError(w, err)
		<-cell.Done()
		synctest.Wait()
		require.ErrorIs(w, cell.Err(), session.ErrRestarted)
		require.Equal(w, "two", beside.Load().Value)
		require.NoError(w, cell.Close(w.Context()))
		require.NoError(w, beside.Close(w.Context()))
		require.NotContains(w, restarts(w), "config /cell")
	})
}

// actorsOf returns a context for observers, and a function that calls another in the actors of the
// observers that were started with that context. reached is how many of these have not ended.
func actorsOf(ctx context.Context) (with context.Context, inActors func(f func()) (reached int)) {
	var all []func(func()) bool
	with = context.WithValue(ctx, observe.Started{}, func(run func(func()) bool) { all = append(all, run) })
	return with, func(f func()) (reached int) {
		for _, run := range all {
			if run(f) {
				reached++
			}
		}
		return reached
	}
}
