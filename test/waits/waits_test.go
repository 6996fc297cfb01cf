package waits_test

// Every channel of the public API that waits for something from ZooKeeper, and what causes that.

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/recipes/barrier"
	"github.com/troupe-go/troupe/recipes/config"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/fence"
	"github.com/troupe-go/troupe/recipes/group"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/recipes/naming"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/recipes/twopc"
	"github.com/troupe-go/troupe/session"
)

func TestMain(m *testing.M) { tier.Main(m) }

const at = "/waits/x" // the path of all recipes

// world is a bubble with two sessions: mine waits, and gets the errors; other causes the event that
// mine waits for.
type world struct {
	*bubble.World
	mine, other *session.Session
}

// wait is one wait for an event.
type wait struct {
	begin func() (heard <-chan struct{}) // begins to wait; heard closes when the event was delivered
	cause func()                         // causes the event
	err   func() error                   // why the wait has ended; nil: the API does not tell
	ends  bool                           // a refused request ends the wait, and err returns its error
}

// waits are made before the errors come. A name has the methods that wait, without the package's
// path, separated by commas; behind a colon is what tells it from others of the same methods.
var waits = map[string]func(w *world) wait{
	"session.Session.WatchData": func(w *world) wait {
		w.create(at)
		return wait{
			begin: func() <-chan struct{} {
				return heard(w, w.mine.WatchData(w.Context(), at), func(d session.Data) bool { return string(d.Bytes) == "new" && !d.Stale })
			},
			cause: func() { w.set(at, "new") },
		}
	},
	"session.Session.WatchData: no znode yet": func(w *world) wait {
		return wait{
			begin: func() <-chan struct{} {
				return heard(w, w.mine.WatchData(w.Context(), at), func(d session.Data) bool { return d.Exists && !d.Stale })
			},
			cause: func() { w.create(at) },
		}
	},
	"session.Session.WatchChildren": func(w *world) wait {
		w.create(at)
		return wait{
			begin: func() <-chan struct{} {
				return heard(w, w.mine.WatchChildren(w.Context(), at), func(c session.Children) bool { return len(c.Names) == 1 && !c.Stale })
			},
			cause: func() { w.create(at + "/new") },
		}
	},
	"session.Session.WatchTree": func(w *world) wait {
		w.create(at)
		return wait{
			begin: func() <-chan struct{} {
				return heard(w, w.mine.WatchTree(w.Context(), at), func(t *session.Tree) bool {
					n, _ := t.At("new")
					return n.Exists && !t.Stale
				})
			},
			cause: func() { w.create(at + "/new") },
		}
	},
	"lock.Lock.Acquired":                   acquires(lockAs(lock.New)),
	"lock.Lock.Acquired: a delayed one":    acquires(lockAs(lock.New, lock.WithDelay(1))),
	"lock.Lock.Acquired: Simple":           acquires(lockAs(lock.New, lock.WithLayout(lock.Simple))),
	"lock.Lock.Acquired: JavaWriteLock":    acquires(lockAs(lock.New, lock.WithLayout(lock.JavaWriteLock))),
	"lock.Lock.Acquired: a write lock":     acquires(lockAs(lock.NewWrite)),
	"lock.Lock.Acquired: a semaphore":      acquires(semaphore),
	"lock.Lock.ObserveStatus":              standsByLock,
	"lock.Lock.Observe":                    observesLock(),
	"lock.Lock.Observe: Simple":            observesLock(lock.WithLayout(lock.Simple)),
	"session.Hold.Done, lock.Grant":        holds,
	"lock.Grant.Revoked":                   isRevoked,
	"election.Election.Leader":             leads(),
	"election.Election.Leader: Kazoo":      leads(election.WithLayout(election.Kazoo)),
	"election.Election.ObserveStatus":      standsForElection,
	"election.Election.Observe":            observesElection,
	"queue.Consumer.Items":                 consumes,
	"queue.Consumer.Items: behind another": consumesBehind,
	"barrier.Barrier.Lowered": func(w *world) wait {
		require.NoError(w, must(barrier.New(w.other, at)).Raise(w.Context()))
		return wait{
			begin: func() <-chan struct{} { return must(barrier.New(w.mine, at)).Lowered(w.Context()) },
			cause: func() { require.NoError(w, must(barrier.New(w.other, at)).Lower(w.Context())) },
		}
	},
	"barrier.Barrier.ObserveStatus": func(w *world) wait {
		return wait{
			begin: func() <-chan struct{} {
				return heard(w, must(barrier.New(w.mine, at)).ObserveStatus(w.Context()), func(p barrier.Status) bool { return p.Raised && !p.Stale })
			},
			cause: func() { require.NoError(w, must(barrier.New(w.other, at)).Raise(w.Context())) },
		}
	},
	"barrier.Double.Entered": func(w *world) wait {
		mine, other := must(barrier.NewDouble(w.mine, at, 2)), must(barrier.NewDouble(w.other, at, 2))
		return wait{
			begin: func() <-chan struct{} {
				mine.Arrive()
				return heard(w, mine.Entered(), some)
			},
			cause: other.Arrive, err: mine.Err, ends: true,
		}
	},
	"barrier.Passage.Left": func(w *world) wait {
		mine, other := must(barrier.NewDouble(w.mine, at, 2)), must(barrier.NewDouble(w.other, at, 2))
		mine.Arrive()
		other.Arrive()
		m, o := bubble.Get(w, mine.Entered()), bubble.Get(w, other.Entered())
		return wait{
			begin: func() <-chan struct{} {
				m.Depart()
				return m.Left()
			},
			cause: o.Depart, err: mine.Err, ends: true,
		}
	},
	"twopc.Site.Proposals": func(w *world) wait {
		c := must(twopc.NewCoordinator(w.other, at))
		var mine *twopc.Site
		return wait{
			begin: func() <-chan struct{} {
				mine = must(twopc.NewSite(w.mine, at, "a"))
				return heard(w, mine.Proposals(), some)
			},
			cause: func() { must(c.Begin(w.Context(), "t", nil, "a")) },
			err:   func() error { return mine.Err() }, ends: true,
		}
	},
	"twopc.Site.Proposals: a later one": func(w *world) wait {
		c, mine := must(twopc.NewCoordinator(w.other, at)), must(twopc.NewSite(w.mine, at, "a"))
		return wait{
			begin: func() <-chan struct{} { return heard(w, mine.Proposals(), some) },
			cause: func() { must(c.Begin(w.Context(), "t", nil, "a")) },
			err:   mine.Err, ends: true,
		}
	},
	"twopc.Proposal.Decided": func(w *world) wait {
		c, mine, other := must(twopc.NewCoordinator(w.other, at)), must(twopc.NewSite(w.mine, at, "a")), must(twopc.NewSite(w.other, at, "b"))
		must(c.Begin(w.Context(), "t", nil, "a", "b"))
		p, o := bubble.Get(w, mine.Proposals()), bubble.Get(w, other.Proposals())
		require.NoError(w, p.VoteCommit(w.Context()))
		return wait{
			begin: p.Decided,
			cause: func() { require.NoError(w, o.VoteCommit(w.Context())) },
			err:   mine.Err, ends: true,
		}
	},
	"twopc.Tx.Votes":          coordinates(func(w *world, t *twopc.Tx) <-chan struct{} { return heard(w, t.Votes(), some) }),
	"twopc.Tx.Decided":        coordinates(func(_ *world, t *twopc.Tx) <-chan struct{} { return t.Decided() }),
	"twopc.Tx.Done":           coordinates(func(_ *world, t *twopc.Tx) <-chan struct{} { return t.Done() }),
	"group.Membership.Joined": joins(func(_ *world, m *group.Membership) <-chan struct{} { return m.Joined() }),
	"group.Membership.ObserveStatus": joins(func(w *world, m *group.Membership) <-chan struct{} {
		return heard(w, m.ObserveStatus(w.Context()), func(s group.Status) bool { return s.State == group.Joined })
	}),
	"group.Group.Observe": func(w *world) wait {
		return wait{
			begin: func() <-chan struct{} {
				return heard(w, must(group.New(w.mine, at)).Observe(w.Context()), func(v group.View) bool { return len(v.Members) == 1 && !v.Stale })
			},
			cause: func() { must(must(group.New(w.other, at)).Join(group.Member{Name: "other"})) },
		}
	},
	"config.Cell.Observe": func(w *world) wait {
		var mine *config.Cell[string]
		return wait{
			begin: func() <-chan struct{} {
				mine = must(config.New(w.mine, at, config.Text()))
				return heard(w, mine.Observe(w.Context()), func(s config.Snapshot[string]) bool { return s.Value == "new" && !s.Stale })
			},
			cause: func() {
				must(must(config.Open(w.Context(), w.other, at, config.Text())).Update(w.Context(), func(string) (string, error) { return "new", nil }))
			},
			err: func() error { return mine.Err() },
		}
	},
	"naming.Names.Observe": func(w *world) wait {
		return wait{
			begin: func() <-chan struct{} {
				return heard(w, must(naming.New(w.mine, at)).Observe(w.Context(), "a"), func(b naming.Binding) bool { return b.Bound && !b.Stale })
			},
			cause: func() { require.NoError(w, must(naming.New(w.other, at)).Bind(w.Context(), "a", []byte("new"))) },
		}
	},
	"fence.Follow": func(w *world) wait {
		g := must(must(lock.New(w.other, at)).Lock(w.Context()))
		followed := must(fence.Follow(w.Context(), w.mine, g.Sequencer()))
		return wait{
			begin: func() <-chan struct{} {
				return heard(w, followed.Done(), func(struct{}) bool { return false }, func() bool { return errors.Is(context.Cause(followed), fence.ErrFenced) })
			},
			cause: func() { require.NoError(w, g.Release(w.Context())) },
			err:   func() error { return context.Cause(followed) }, ends: true,
		}
	},
}

// asksNothing are channels whose events need no request, and what they tell of.
var asksNothing = map[string]string{
	"session.Session.ObserveStatus": "of the session itself, and whether it is connected",
	"session.Session.Done":          "of its end",
	"actors.System.Done":            "of its end",
	"actors.Scope.Done":             "of its end",
	"actors.Ref.Done":               "of its end",
	"recipe.Claims.Won":             "what a lock and an election are made of",
	"recipe.Claims.Done":            "of its end",
	"recipe.Host.Done":              "of its end",
	"recipe.Handle.Done":            "of its end",
	"recipe.Possession.Revoked":     "what a lock is made of",
	"lock.Lock.Done":                "of its end",
	"lock.Multi.Done":               "of its end",
	"election.Election.Done":        "of its end",
	"queue.Queue.Done":              "of its end",
	"queue.Consumer.Done":           "of its end",
	"queue.Consumer.Errors":         "of what the consumer met",
	"queue.Item.Done":               "claims are not watched: what has become of one the next request shows",
	"barrier.Barrier.Done":          "of its end",
	"barrier.Double.Done":           "of its end",
	"twopc.Site.Done":               "of its end",
	"twopc.Coordinator.Done":        "of its end",
	"twopc.Proposal.Done":           "of the application's own Ack",
	"group.Group.Done":              "of its end",
	"group.Membership.Done":         "of its end",
	"config.Cell.Done":              "of its end",
	"naming.Names.Done":             "of its end",
}

func lockAs(build func(*session.Session, string, ...lock.Option) (*lock.Lock, error), opts ...lock.Option) func(s *session.Session) *lock.Lock {
	return func(s *session.Session) *lock.Lock { return must(build(s, at, opts...)) }
}

func semaphore(s *session.Session) *lock.Lock { return must(lock.NewSemaphore(s, at, 1)) }

// acquires waits for a lock that the other session holds.
func acquires(made func(s *session.Session) *lock.Lock) func(w *world) wait {
	return func(w *world) wait {
		mine, g := made(w.mine), must(made(w.other).Lock(w.Context()))
		return wait{
			begin: func() <-chan struct{} {
				mine.Acquire()
				return heard(w, mine.Acquired(), some)
			},
			cause: func() { require.NoError(w, g.Release(w.Context())) },
			err:   mine.Err, ends: true,
		}
	}
}

func standsByLock(w *world) wait {
	mine, g := must(lock.New(w.mine, at)), must(must(lock.New(w.other, at)).Lock(w.Context()))
	return wait{
		begin: func() <-chan struct{} {
			mine.Acquire()
			heard(w, mine.Acquired(), some)
			return heard(w, mine.ObserveStatus(w.Context()), func(s lock.Status) bool { return s.State == lock.Holding && !s.Stale })
		},
		cause: func() { require.NoError(w, g.Release(w.Context())) },
		err:   mine.Err, ends: true,
	}
}

func observesLock(opts ...lock.Option) func(w *world) wait {
	return func(w *world) wait {
		mine, other := must(lock.New(w.mine, at, opts...)), must(lock.New(w.other, at, opts...))
		return wait{
			begin: func() <-chan struct{} {
				return heard(w, mine.Observe(w.Context()), func(v lock.View) bool { return len(v.Contenders) == 1 })
			},
			cause: func() { must(other.Lock(w.Context())) },
			err:   mine.Err,
		}
	}
}

// holds waits for the end of a grant whose znode is deleted.
func holds(w *world) wait {
	g := must(must(lock.New(w.mine, at)).Lock(w.Context()))
	return wait{
		begin: g.Done,
		cause: func() { _ = w.other.Delete(w.Context(), g.Path(), -1) }, // the znode may be gone already
	}
}

// isRevoked waits until the holder is asked to release, or has lost the lock.
func isRevoked(w *world) wait {
	mine := must(lock.New(w.mine, at))
	mine.Acquire()
	g := bubble.Get(w, mine.Acquired())
	return wait{
		begin: func() <-chan struct{} {
			var told notify.Latch
			go func() { // ends with the test
				defer told.Close()
				select {
				case <-g.Revoked():
				case <-g.Done():
				case <-w.Context().Done():
				}
			}()
			return told.C()
		},
		cause: func() { _ = must(lock.New(w.other, at)).Revoke(w.Context(), lock.Contender{Path: g.Path()}) }, // the znode may be gone already
		err:   mine.Err, ends: true,
	}
}

func leads(opts ...election.Option) func(w *world) wait {
	return func(w *world) wait {
		mine, t := must(election.New(w.mine, at, opts...)), must(must(election.New(w.other, at, opts...)).Lead(w.Context()))
		return wait{
			begin: func() <-chan struct{} {
				mine.Campaign()
				return heard(w, mine.Leader(), some)
			},
			cause: func() { require.NoError(w, t.Resign(w.Context())) },
			err:   mine.Err, ends: true,
		}
	}
}

func standsForElection(w *world) wait {
	mine, t := must(election.New(w.mine, at)), must(must(election.New(w.other, at)).Lead(w.Context()))
	return wait{
		begin: func() <-chan struct{} {
			mine.Campaign()
			heard(w, mine.Leader(), some)
			return heard(w, mine.ObserveStatus(w.Context()), func(s election.Status) bool { return s.State == election.Leading && !s.Stale })
		},
		cause: func() { require.NoError(w, t.Resign(w.Context())) },
		err:   mine.Err, ends: true,
	}
}

func observesElection(w *world) wait {
	mine, other := must(election.New(w.mine, at)), must(election.New(w.other, at, election.WithName("other")))
	return wait{
		begin: func() <-chan struct{} {
			return heard(w, mine.Observe(w.Context()), func(l election.Leadership) bool { return l.Name == "other" && !l.Stale })
		},
		cause: func() { must(other.Lead(w.Context())) },
		err:   mine.Err,
	}
}

func consumes(w *world) wait {
	mine, other := must(queue.New(w.mine, at)), must(queue.New(w.other, at))
	var from *queue.Consumer
	return wait{
		begin: func() <-chan struct{} {
			from = must(mine.Consume())
			return heard(w, from.Items(), some)
		},
		cause: func() { must(other.Put(w.Context(), []byte("new"))) },
		err:   func() error { return from.Err() },
	}
}

// consumesBehind is consumes behind another consumer, which is closed by the cause.
func consumesBehind(w *world) wait {
	first := must(must(queue.New(w.other, at)).Consume())
	mine := consumes(w)
	put := mine.cause
	mine.cause = func() {
		require.NoError(w, first.Close(w.Context()))
		put()
	}
	return mine
}

func coordinates(what func(w *world, t *twopc.Tx) <-chan struct{}) func(w *world) wait {
	return func(w *world) wait {
		mine, other := must(twopc.NewCoordinator(w.mine, at, twopc.WithVoteTimeout(time.Hour))), must(twopc.NewSite(w.other, at, "a"))
		t := must(mine.Begin(w.Context(), "t", nil, "a"))
		p := bubble.Get(w, other.Proposals())
		return wait{
			begin: func() <-chan struct{} { return what(w, t) },
			cause: func() { require.NoError(w, p.VoteCommit(w.Context())) },
			err:   t.Err, ends: true,
		}
	}
}

func joins(what func(w *world, m *group.Membership) <-chan struct{}) func(w *world) wait {
	return func(w *world) wait {
		mine := must(group.New(w.mine, at))
		var m *group.Membership
		return wait{
			begin: func() <-chan struct{} {
				m = must(mine.Join(group.Member{Name: "mine"}))
				return what(w, m)
			},
			cause: nothing,
			err:   func() error { return m.Err() }, ends: true,
		}
	}
}

func nothing() {}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func some[T any](T) bool { return true }

// heard returns a channel that closes when from has delivered a value for which is is true, or when
// from has closed and closed, if given, is true.
func heard[T any](w *world, from <-chan T, is func(T) bool, closed ...func() bool) <-chan struct{} {
	var told notify.Latch
	go func() { // ends with the test, or with the channel
		for {
			select {
			case v, open := <-from:
				if open && is(v) || !open && len(closed) > 0 && closed[0]() {
					told.Close()
				}
				if !open {
					return
				}
			case <-w.Context().Done():
				return
			}
		}
	}()
	return told.C()
}

func (w *world) create(path string) {
	must(w.other.Create(w.Context(), path, nil, session.Parents()))
}

func (w *world) set(path, data string) {
	must(w.other.Set(w.Context(), path, []byte(data), -1))
}

// methods returns the methods in a name of the table.
func methods(name string) []string {
	names, _, _ := strings.Cut(name, ":")
	return strings.Split(names, ", ")
}
