package recipe_test

// An instance of a machine: its intents and possessions, its answers and timers, its panics and its
// end; and handles. Helpers: harness_test.go; flags, teller and scripted are in machines_test.go.

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/internal/crash"
	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/barrier"
	"github.com/troupe-go/troupe/recipes/group"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/recipes/naming"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

func TestAnIntentBecomesAPossession(t *testing.T) {
	inBubble(t, func(g *ground) {
		f := g.plant("a")
		require.True(g, f.Valid())
		require.True(g, g.exists("a"))
		require.NoError(g, g.sess.Delete(g.ctx, "/flags/a", -1))
		require.Equal(g, machine.Fired{Epoch: 1, Path: "/flags/a", Change: machine.Deleted}, <-g.fired)
		require.True(g, g.h.End(f.Hold, session.ErrDeleted))
		require.ErrorIs(g, f.Err(), session.ErrDeleted)
		require.False(g, g.h.End(f.Hold, session.ErrDeleted))
	})
}

func TestAPanicWhileDisconnectedAndTheEndOfTheEpoch(t *testing.T) {
	inBubble(t, func(g *ground) {
		first := g.plant("a")
		g.srv.ExpireSilently(g.sess.Status().SessionID)
		g.srv.Kill(0)
		crash.Instance(g.h, "on purpose")
		<-first.Done()
		require.ErrorIs(g, first.Err(), session.ErrRestarted)
		synctest.Wait()
		require.NoError(g, g.srv.Restart(0))
		again := <-g.flags
		require.True(g, again.Valid())
		require.EqualValues(g, 2, g.sess.Status().Epoch)
	})
}

// The create of the example is lost: its machine asks for it again, for no process would be the
// first.
func TestTheExampleCreatesAgain(t *testing.T) {
	f := &first{path: "/x", id: "a"}
	creates := f.Step(machine.EpochBegan{Epoch: 1})
	require.Len(t, creates, 1)
	create := creates[0].(machine.Transact)
	reads := f.Step(machine.Transacted{Epoch: 1, Ask: create.Ask, Code: machine.Unknown})
	require.Len(t, reads, 1)
	again := f.Step(machine.Seen{Epoch: 1, Ask: reads[0].(machine.Read).Ask, Path: "/x"})
	require.Len(t, again, 1)
	require.Equal(t, create.Ops, again[0].(machine.Transact).Ops)
}

func TestTooManyPanics(t *testing.T) {
	inBubble(t, func(g *ground) {
		f := g.plant("a")
		for range tooMany { // one each second; those that come during a pause wait for the next incarnation
			crash.Instance(g.h, errors.New("again"))
			time.Sleep(time.Second)
		}
		<-g.h.Done()
		require.ErrorIs(g, g.h.Err(), actors.ErrGivenUp)
		var op *session.OpError
		require.ErrorAs(g, g.h.Err(), &op)
		require.Equal(g, "/flags", op.Path)
		require.ErrorIs(g, f.Err(), session.ErrRestarted)
		require.False(g, g.h.Tell(plant{"b"}))
		synctest.Wait()
		require.False(g, g.exists("a"), "nothing is left")
	})
}

// TestAMachineThatFails ends the instance with its reason.
func TestAMachineThatFails(t *testing.T) {
	inBubble(t, func(g *ground) {
		require.True(g, g.h.Tell(plant{""})) // its path, "/flags/", ends in a slash
		<-g.h.Done()
		require.ErrorIs(g, g.h.Err(), session.ErrInvalidPath)
	})
}

func TestClose(t *testing.T) {
	inBubble(t, func(g *ground) {
		f := g.plant("a")
		require.NoError(g, g.h.Close(g.ctx))
		require.NoError(g, g.h.Close(g.ctx))
		require.ErrorIs(g, g.h.Err(), session.ErrClosed)
		require.ErrorIs(g, f.Err(), session.ErrClosed)
		require.False(g, g.exists("a"))
	})
}

// The end of a possession may be told before Host.HoldAs has returned, by another goroutine.
func TestAPossessionIsGivenBeforeItEnds(t *testing.T) {
	var kinds []session.EventKind
	hook := session.WithEvents(func(_ *session.Session, ev session.Event) {
		if ev.Token == 7 {
			kinds = append(kinds, ev.Kind)
		}
	})
	inBubble(t, func(g *ground) {
		t := recipe.NewTenure(g.h, nil, session.Event{Kind: session.EventGranted, Token: 7}, nil)
		t.End(session.ErrExpired, true)
		t.Begin()
		synctest.Wait()
		require.Equal(g, []session.EventKind{session.EventGranted, session.EventLost}, kinds)
	}, hook)
}

// Of the grant and the withdrawal of a wait the first is told. A possession that comes too late is
// not told at all.
func TestOneAnswerToAWait(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		play func(w *recipe.Wait, p *recipe.Tenure)
		want []session.EventKind
	}{
		"granted":        {func(w *recipe.Wait, p *recipe.Tenure) { p.Begin(); w.Withdraw(nil); p.End(nil, false) }, []session.EventKind{session.EventWanted, session.EventGranted, session.EventReleased}},
		"withdrawn":      {func(w *recipe.Wait, p *recipe.Tenure) { w.Withdraw(nil); p.Begin(); p.End(nil, false) }, []session.EventKind{session.EventWanted, session.EventWithdrawn}},
		"both withdrawn": {func(w *recipe.Wait, _ *recipe.Tenure) { w.Withdraw(nil); w.Withdraw(nil) }, []session.EventKind{session.EventWanted, session.EventWithdrawn}},
	} {
		t.Run(name, func(t *testing.T) {
			var kinds []session.EventKind
			inBubble(t, func(g *ground) {
				var w recipe.Wait
				g.h.Want(&w, recipe.Asked{})
				p := recipe.NewTenure(g.h, &w, session.Event{Kind: session.EventGranted}, nil)
				row.play(&w, &p)
				synctest.Wait()
				require.Equal(g, row.want, kinds)
			}, session.WithEvents(func(_ *session.Session, ev session.Event) {
				if ev.Kind >= session.EventWanted {
					kinds = append(kinds, ev.Kind)
				}
			}))
		})
	}
}

func TestCloseWithoutAnAnswer(t *testing.T) {
	inBubble(t, func(g *ground) {
		f := g.plant("a")
		g.srv.Kill(0)
		ctx, cancel := context.WithTimeout(g.ctx, time.Second)
		defer cancel()
		require.ErrorIs(g, g.h.Close(ctx), context.DeadlineExceeded)
		<-g.h.Done()
		<-f.Done()
		require.NoError(g, g.srv.Restart(0))
		require.NoError(g, g.sess.Sync(g.ctx, "/"))
		synctest.Wait()
		require.False(g, g.exists("a"), "the session deletes it when it can")
	})
}

func TestTheEndOfTheSession(t *testing.T) {
	inBubble(t, func(g *ground) {
		f := g.plant("a")
		require.NoError(g, g.sess.Close(g.ctx))
		<-g.h.Done()
		require.ErrorIs(g, g.h.Err(), session.ErrClosed)
		require.ErrorIs(g, f.Err(), session.ErrClosed)
		_, err := recipe.New(recipe.Config{Session: g.sess, Kind: "flags", Path: "/flags", Machine: newFlags("/flags"), Perform: g.perform})
		require.ErrorIs(g, err, session.ErrClosed)
	})
}

// TestPanicsAtEveryRequest: at whichever request the actor panics, the intent is granted in the
// end, and one znode exists.
func TestPanicsAtEveryRequest(t *testing.T) {
	t.Parallel()
	const first, last = 3, 8 // requests 1 and 2 are the session's handshake and sync; the machine's four follow, and a recovery's
	for at := first; at <= last; at++ {
		t.Run(fmt.Sprintf("request %d", at), func(t *testing.T) {
			inBubble(t, func(g *ground) {
				n := 0
				remove := g.srv.Intercept(func(*zktest.Request) zktest.Verdict {
					if n++; n == at {
						crash.Instance(g.h, n)
					}
					return zktest.Pass
				})
				g.standing = append(g.standing, plant{"a"})
				require.True(g, g.h.Tell(plant{"a"}))
				time.Sleep(5 * time.Second)
				remove()
				var newest flag
				for len(g.flags) > 0 {
					newest = <-g.flags
				}
				require.True(g, newest.Valid())
				require.True(g, g.exists("a"))
			})
		})
	}
}

// Each query of a MultiRead has the same answer as the read alone, except the Stat of a listing.
func TestAMultiRead(t *testing.T) {
	inBubble(t, func(g *ground) {
		_, err := g.sess.Create(g.ctx, "/dir", []byte("x"))
		require.NoError(g, err)
		_, err = g.sess.Create(g.ctx, "/dir/closed", nil, session.WithNodeACL(session.AnyoneACL(session.PermWrite)...))
		require.NoError(g, err)
		h, told := g.telling()
		queries := []machine.Query{
			{Path: "/dir"}, {Path: "/dir", Children: true}, {Path: "/none"}, {Path: "/none", Children: true}, {Path: "/dir/closed"}, {Path: ""},
		}
		effects := []machine.Effect{machine.MultiRead{Epoch: 1, Ask: 9, Queries: queries}, machine.MultiRead{Epoch: 1, Ask: 9}}
		for _, q := range queries { // all with the number of the MultiRead, which its answers have
			if q.Children {
				effects = append(effects, machine.List{Epoch: 1, Ask: 9, Path: q.Path})
			} else {
				effects = append(effects, machine.Read{Epoch: 1, Ask: 9, Path: q.Path})
			}
		}
		require.True(g, h.Tell(say{effects: effects}))
		var alone, together []machine.Event
		for _, s := range by[machine.Seen](told, 0) {
			alone = append(alone, s)
		}
		for _, l := range by[machine.Listed](told, 0) {
			l.Stat = machine.Stat{}
			alone = append(alone, l)
		}
		for _, l := range by[machine.MultiSeen](told, 0) {
			require.EqualValues(g, 9, l.Ask)
			together = append(together, l.Answers...)
		}
		require.Len(g, by[machine.MultiSeen](told, 0), 2, "a MultiRead without queries is answered too")
		require.ElementsMatch(g, alone, together)
		require.Equal(g, machine.Refused, together[4].(machine.Seen).Code)
	})
}

// The answer to a request of a crashed incarnation comes when its successor is at work, which has
// numbers of its own. It is dropped.
func TestAnAnswerIsForTheIncarnationThatAsked(t *testing.T) {
	inBubble(t, func(g *ground) {
		h, told := g.telling()
		lift := g.throttle(zktest.OpGetData, "/t")
		require.True(g, h.Tell(say{effects: []machine.Effect{machine.Read{Epoch: 1, Ask: 1, Path: "/t"}}}))
		synctest.Wait()
		crash.Instance(h, "on purpose")
		time.Sleep(10 * time.Second)
		require.Len(g, by[machine.EpochBegan](told, 1), 1, "the second incarnation is at work")
		lift()
		time.Sleep(time.Minute)
		require.Empty(g, by[machine.Seen](told, 1))
		require.True(g, h.Tell(say{effects: []machine.Effect{machine.Read{Epoch: 1, Ask: 1, Path: "/t"}}}))
		require.Len(g, by[machine.Seen](told, 1), 1)
	})
}

func TestATimerThatIsCancelled(t *testing.T) {
	t.Parallel()
	wake, cancel := machine.Wake{Ask: 1, After: 500}, machine.Cancel{Ask: 1}
	for name, busy := range map[string]time.Duration{"before it goes off": 0, "as it goes off": time.Second} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(g *ground) {
				h, told := g.telling()
				require.True(g, h.Tell(say{effects: []machine.Effect{wake}}))
				require.True(g, h.Tell(say{pause: busy, effects: []machine.Effect{cancel}}))
				time.Sleep(time.Minute)
				require.Empty(g, by[machine.Woke](told, 0))
				require.True(g, h.Tell(say{effects: []machine.Effect{wake}}))
				time.Sleep(time.Minute)
				require.Len(g, by[machine.Woke](told, 0), 1, "the number may be used again")
			})
		})
	}
}

// A notice of the session that is still on its way to the actor is in the state with which a new
// machine begins. The machine is told of it once.
func TestWhatANewMachineBeginsWithIsToldOnce(t *testing.T) {
	inBubble(t, func(g *ground) {
		h, told := g.telling()
		crash.Instance(h, "on purpose")
		tell := h.Hear(machine.Suspended{Epoch: 1})
		time.Sleep(10 * time.Second)
		require.Len(g, by[machine.Suspended](told, 1), 1)
		tell()
		require.Len(g, by[machine.Suspended](told, 1), 1)
		h.Hear(machine.Resumed{Epoch: 1})()
		require.Len(g, by[machine.Resumed](told, 1), 1)
	})
}

// A session stays trusted for as long as an instance stands by, and not longer.
func TestStandBy(t *testing.T) {
	inBubble(t, func(g *ground) {
		h, _ := g.telling()
		h.StandBy(1, true)
		time.Sleep(time.Minute)
		hold, err := h.Hold(1, "/t", 1, func(error) {})
		require.NoError(g, err)
		require.True(g, h.End(hold, session.ErrReleased))
		h.StandBy(1, false)
		time.Sleep(time.Minute)
		_, err = h.Hold(1, "/t", 1, func(error) {})
		require.ErrorIs(g, err, session.ErrUntrusted)
	})
}

var errStuck = errors.New("stuck")

// stops is a machine that ends with an error when it is closed.
func stops(ev machine.Event) []machine.Effect {
	if _, ok := ev.(machine.Closing); ok {
		return []machine.Effect{machine.Stop{Err: errStuck}}
	}
	return nil
}

func TestCloseReturnsTheErrorThatTheMachineEndsWith(t *testing.T) {
	inBubble(t, func(g *ground) {
		h := g.run(stops, nil)
		require.ErrorIs(g, h.Close(g.ctx), errStuck)
		require.ErrorIs(g, h.Err(), errStuck)
		require.NoError(g, h.Close(g.ctx), "it has ended already")
	})
}

func TestAnInstanceEndsAlsoIfEndedPanics(t *testing.T) {
	inBubble(t, func(g *ground) {
		h := g.run(stops, func(error) { panic("in Ended") })
		require.ErrorIs(g, h.Close(g.ctx), errStuck)
		bubble.Closes(g, h.Done(), "Done")
	})
}

// An effect that is not carried out ends the instance: the machine would wait for an answer for
// ever.
func TestAnEffectThatIsNotCarriedOut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		effect machine.Effect
		want   string
	}{
		"of claims":       {machine.Settle{Claim: 1}, "machine.Settle is for a machine that is run with NewClaims"},
		"of the recipe":   {planted{}, "nobody performs recipe_test.planted"},
		"a pointer to it": {&machine.Read{}, "nobody performs *machine.Read"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(g *ground) {
				h := g.run(func(machine.Event) []machine.Effect { return []machine.Effect{c.effect} }, nil)
				require.True(g, h.Tell(plant{}))
				bubble.Closes(g, h.Done(), "Done")
				require.ErrorContains(g, h.Err(), c.want)
			})
		})
	}
}

// handle is what every handle has.
type handle interface {
	Close(ctx context.Context) error
	Done() <-chan struct{}
	Err() error
}

// A handle without anything of its own in ZooKeeper ends by Close or with its session: waiting
// calls end with session.ErrClosed, observers' channels close, and later calls fail.
func TestAHandleEndsByCloseOrWithItsSession(t *testing.T) {
	t.Parallel()
	type calls struct {
		handle
		wait    func(ctx context.Context) error // nil: nothing waits
		ask     func(ctx context.Context) error
		watches func(ctx context.Context) <-chan struct{} // closes with the observer
	}
	drained := func(next func() bool) <-chan struct{} {
		ended := make(chan struct{})
		go func() { // ends with the observer
			defer close(ended)
			for next() {
			}
		}()
		return ended
	}
	for name, open := range map[string]func(w *bubble.World, s *session.Session) calls{
		"barrier": func(w *bubble.World, s *session.Session) calls {
			b, err := barrier.New(s, "/b")
			require.NoError(w, err)
			require.NoError(w, b.Raise(bubble.Minute(w)))
			return calls{handle: b, wait: b.Wait, ask: b.Raise, watches: func(ctx context.Context) <-chan struct{} {
				c := b.ObserveStatus(ctx)
				return drained(func() bool { _, open := <-c; return open })
			}}
		},
		"names": func(w *bubble.World, s *session.Session) calls {
			n, err := naming.New(s, "/n")
			require.NoError(w, err)
			return calls{handle: n, ask: func(ctx context.Context) error { return n.Bind(ctx, "a", []byte("x")) }, watches: func(ctx context.Context) <-chan struct{} {
				c := n.Observe(ctx, "a")
				return drained(func() bool { _, open := <-c; return open })
			}}
		},
		"group": func(w *bubble.World, s *session.Session) calls {
			g, err := group.New(s, "/g")
			require.NoError(w, err)
			m, err := g.Join(group.Member{Name: "a"})
			require.NoError(w, err)
			return calls{handle: g, wait: func(context.Context) error { <-m.Done(); return m.Err() }, ask: func(context.Context) error {
				_, err := g.Join(group.Member{Name: "b"})
				return err
			}, watches: func(ctx context.Context) <-chan struct{} {
				c := g.Observe(ctx)
				return drained(func() bool { _, open := <-c; return open })
			}}
		},
		"multi": func(w *bubble.World, s *session.Session) calls {
			var locks []*lock.Lock
			for _, path := range []string{"/x", "/y"} {
				l, err := lock.New(s, path)
				require.NoError(w, err)
				locks = append(locks, l)
			}
			m, err := lock.NewMulti(locks...)
			require.NoError(w, err)
			g, err := m.Lock(bubble.Minute(w))
			require.NoError(w, err)
			return calls{handle: m, wait: func(ctx context.Context) error { _, err := m.Lock(ctx); return err }, ask: func(ctx context.Context) error {
				_, err := m.TryLock(ctx)
				return err
			}, watches: func(context.Context) <-chan struct{} { return g.Done() }}
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
					if name != "multi" || how == "closed" { // a Multi has no session of its own
						bubble.Closed(t, h.Done(), "the handle")
						require.ErrorIs(t, h.Err(), session.ErrClosed)
					}
					synctest.Wait()
					t.Server.ClearJournal()
					for range 20 { // the end of its context and the call would run side by side
						require.ErrorIs(t, h.ask(ctx), session.ErrClosed)
					}
					require.Empty(t, t.Server.Journal(), "a handle that has ended sends no request")
					require.NoError(t, errors.Join(h.Close(ctx), h.Close(ctx)))
					if how == "closed" {
						require.Equal(t, session.Connected, s.Status().State)
					}
				})
			})
		}
	}
}

// A call leaves nothing on a context that lasts.
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
