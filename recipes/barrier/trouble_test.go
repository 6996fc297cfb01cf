package barrier_test

// What befalls a double barrier: parties that die, expire or panic, znodes that are deleted or are
// foreign, replies that are lost, servers that stand still. How a possession ends: test/losses.

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/barrier"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// B63, K5: a party that dies inside does not hold the others, whichever it is in their order and
// whether it dies before or after they depart; and they do not leave while one of them is inside.
func TestB63_WhoDiesInsideHoldsNobody(t *testing.T) {
	t.Parallel()
	for dead := range 4 {
		for _, before := range []bool{true, false} {
			inBubble(t, func(w *world) {
				team := w.team(4)
				passages := team.enter(w)
				last := (dead + 2) % 4
				die := func() { w.Server.Expire(team.hosts[dead].Status().SessionID) }
				team.hosts[dead].Machine.Partition()
				if before {
					die()
				}
				for i, p := range passages {
					if i != dead && i != last {
						p.Depart()
					}
				}
				synctest.Wait()
				if !before {
					die()
				}
				for i, p := range passages {
					if i != dead {
						bubble.Never(w, p.Left(), "one is inside")
					}
				}
				passages[last].Depart()
				for i, p := range passages {
					if i != dead {
						bubble.Now(w, p.Left())
					}
				}
				require.Zero(w, w.standing())
			})
		}
	}
}

// Somebody deletes the whole barrier. Who waited stands again, in a barrier made anew.
func TestTheBarrierIsDeleted(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		team := w.team(2)
		leave(w, team.enter(w)...)
		team.doubles[0].Arrive()
		synctest.Wait()
		require.NoError(w, w.Host("admin").DeleteAll(w.Context(), path))
		leave(w, team.enter(w)...)
		leave(w, team.enter(w)...)
	})
}

// An epoch ends while its party is inside: the passage is lost, the others are not held, and Left
// tells when they are gone, in the next epoch.
func TestExpiryInside(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		team := w.team(3)
		passages := team.enter(w)
		w.Server.Expire(team.hosts[0].Status().SessionID)
		bubble.Within(w, time.Second, passages[0].Done())
		require.ErrorIs(w, passages[0].Err(), session.ErrLost)
		require.ErrorIs(w, passages[0].Leave(w.Context()), session.ErrLost)
		time.Sleep(10 * time.Second)
		bubble.Never(w, passages[0].Left(), "others are inside")
		passages[1].Depart()
		time.Sleep(10 * time.Second)
		bubble.Never(w, passages[0].Left(), "one is inside")
		passages[2].Depart()
		for _, p := range passages {
			bubble.Within(w, time.Second, p.Left())
		}
		leave(w, team.enter(w)...)
	})
}

// A passage that nobody has received yet is lost: the intent stands again, in the next round.
func TestAnOfferThatIsLost(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		team := w.team(2)
		team.doubles[0].Arrive()
		team.doubles[1].Arrive()
		p := bubble.Within(w, time.Second, team.doubles[1].Entered())
		synctest.Wait()
		w.Server.Expire(team.hosts[0].Status().SessionID)
		time.Sleep(time.Second)
		bubble.Never(w, team.doubles[0].Entered(), "it was lost")
		leave(w, p)
		team.doubles[1].Arrive()
		q := bubble.Within(w, time.Minute, team.doubles[0].Entered())
		require.Equal(w, p.Round()+1, q.Round())
		leave(w, q, bubble.Within(w, time.Minute, team.doubles[1].Entered()))
	})
}

func TestAPanicWhileLeavingAndWhileWaiting(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		team, passages := w.departing()
		team.doubles[0].Crash("a bug")
		time.Sleep(10 * time.Second)
		held(w, "one is inside", passages[:2]...)
		leave(w, passages...)
		team.doubles[0].Arrive()
		synctest.Wait()
		team.doubles[0].Crash("another bug")
		time.Sleep(10 * time.Second) // it stands again
		leave(w, team.enter(w)...)
	})
}

// B62: only parties count. Foreign znodes do not, nor does what the recipe itself puts there.
func TestB62_ForeignZnodes(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		team := w.team(2)
		for _, name := range []string{"ready", "round-", "round-1", "round-x000000001", "round--000000001", "round-0000000000", "foo"} {
			_, err := team.hosts[0].Create(w.Context(), path+"/"+name, nil, session.Parents())
			require.NoError(w, err)
		}
		team.doubles[0].Arrive()
		synctest.Wait()
		for _, name := range []string{"ready", "party-", "p1", "_c_x", "out-1"} {
			_, err := team.hosts[0].Create(w.Context(), path+"/round-0000000001/"+name, nil)
			require.NoError(w, err)
		}
		bubble.Never(w, team.doubles[0].Entered(), "alone")
		passages := team.enter(w)
		leave(w, passages...)
		passages = team.enter(w)
		require.EqualValues(w, 2, passages[0].Round())
		leave(w, passages...)
	})
}

// A party waits on a leader that stands still while the last one arrives, and is deposed; the new
// leader ends its session, and wakes. It must not be inside by the old tree, with nobody knowing of
// it.
func TestADeposedLeaderThatWakesLetsNobodyIn(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		inBubble(t, func(w *world) {
			on := func(name string, server int) *barrier.Double {
				machine := w.Server.Host(name)
				s, err := session.Open(w.Context(), w.Server.Hosts()[server:server+1], session.WithDialer(machine.Dialer()), session.WithTimeout(6*time.Second))
				require.NoError(w, err)
				w.Cleanup(func() { _ = s.Close(bubble.Minute(w)) })
				return w.double(&bubble.Host{Session: s, Machine: machine}, 2, barrier.WithID(name))
			}
			waiting, last := on("waiting", 0), on("last", 1)
			waiting.Arrive()
			time.Sleep(time.Minute)
			w.Server.ClearJournal()
			cut := w.Server.Host("waiting").PartitionOneWay(zktest.FromServer)
			last.Arrive()
			bubble.Within(w, time.Second, last.Entered())
			w.Server.Depose(0)
			cut()
			time.Sleep(12*time.Second + time.Duration(seed)*300*time.Millisecond)
			w.Server.Continue(0)
			for range 20 {
				time.Sleep(100 * time.Millisecond)
				bubble.Never(w, waiting.Entered(), "let in by a leader that was deposed, in a session that is over")
			}
		}, zktest.WithServers(3), zktest.WithTick(2*time.Second), zktest.WithSeed(seed+1))
	}
}

// Whichever reply or request of two whole rounds is lost, of the one who opens and closes them or
// of another, everybody enters and leaves, and nothing is left behind.
func TestLostReplies(t *testing.T) {
	t.Parallel()
	for hit, at := range map[string]int{"first": 0, "last": 2} {
		t.Run(hit, func(t *testing.T) {
			t.Parallel()
			inEachFate(t, func(w *world, k int, strike func(s *session.Session)) {
				team := w.team(3)
				strike(team.hosts[at].Session)
				var parties sync.WaitGroup
				for i, d := range team.doubles { // one after the other: the last one opens, and closes
					parties.Go(func() { w.twoRounds(d, time.Duration(i)*time.Second) })
				}
				parties.Wait()
				require.Zero(w, w.standing(), "k=%d", k)
				require.Len(w, w.rounds(), 1, "k=%d", k)
			})
		})
	}
}

// twoRounds is what a party does in them: it may lose its passage for want of trust, but it is told
// when the round is over.
func (w *world) twoRounds(d *barrier.Double, pause time.Duration) {
	ctx, cancel := context.WithTimeout(w.Context(), 5*time.Minute)
	defer cancel()
	for round := range int64(2) {
		time.Sleep(pause)
		p, err := d.Enter(ctx)
		if !assert.NoError(w, err) || !assert.Equal(w, round+1, p.Round()) {
			return
		}
		time.Sleep(pause)
		if err := p.Leave(ctx); !errors.Is(err, session.ErrLost) {
			assert.NoError(w, err)
		}
		select {
		case <-p.Left():
		case <-ctx.Done():
			w.Error("never left")
		}
	}
}

// A break whose replies are lost breaks one round, and no other.
func TestLostRepliesOfABreak(t *testing.T) {
	t.Parallel()
	inEachFate(t, func(w *world, k int, strike func(s *session.Session)) {
		team := w.team(2)
		breaker := w.Host("breaker")
		other := w.double(breaker, 2)
		answer := w.asks(team.doubles[0])
		synctest.Wait()
		strike(breaker.Session)
		require.NoError(w, other.Break(w.Context()), "k=%d", k)
		require.ErrorIs(w, bubble.Within(w, time.Minute, answer), barrier.ErrBroken, "k=%d", k)
		passages := team.enter(w)
		require.EqualValues(w, 2, passages[0].Round(), "k=%d", k)
		leave(w, passages...)
	})
}

// The other side of B58: the round is opened while one of its parties gives up. ZooKeeper decides
// which was first, and whoever gave up holds nobody.
func TestB58_GivingUpAtTheSameInstantAsTheOpening(t *testing.T) {
	t.Parallel()
	entered, withdrawn := 0, 0
	for seed := range uint64(60) {
		inBubble(t, func(w *world) {
			team := w.team(2)
			defer w.Server.Intercept(bubble.Slowly(seed))()
			ctx, cancel := context.WithTimeout(w.Context(), time.Duration(20+seed)*time.Millisecond)
			defer cancel()
			errs := make(chan error, 1)
			var p *barrier.Passage
			go func() {
				var err error
				p, err = team.doubles[0].Enter(ctx)
				errs <- err
			}()
			team.doubles[1].Arrive()
			if err := bubble.Within(w, time.Minute, errs); err == nil {
				entered++
				leave(w, p, bubble.Within(w, time.Minute, team.doubles[1].Entered()))
				return
			}
			select {
			case other := <-team.doubles[1].Entered(): // it had been opened
				entered++
				leave(w, other)
			case <-time.After(time.Minute):
				withdrawn++
			}
			passages := gather(w, team.doubles...) // it goes on either way
			leave(w, passages...)
		})
	}
	require.Positive(t, entered)
	require.Positive(t, withdrawn)
}

// A silence of 5 s of 6: trust ends, and the ZooKeeper session lives.
func TestAPassageUntilExpiry(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]barrier.Option{"ends with trust": nil, "ends with its session": {barrier.UntilExpiry()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				h := w.Host("a")
				p := gather(w, w.double(h, 1, opts...))[0]
				id, heal := h.Session.Status().SessionID, h.Machine.Partition()
				time.Sleep(5 * time.Second)
				require.False(w, p.Valid())
				if opts == nil {
					require.ErrorIs(w, p.Err(), session.ErrUntrusted)
					heal()
					return
				}
				require.NoError(w, p.Err())
				heal()
				time.Sleep(time.Second)
				require.Equal(w, id, h.Session.Status().SessionID)
				require.NoError(w, p.Err())
				require.True(w, p.Valid(), "with trust")
				_, err := p.Commit(w.Context(), session.SetOp("/", nil, -1))
				require.NoError(w, err)

				heal = w.Server.Isolate() // there is a connection, and no proof
				time.Sleep(5 * time.Second)
				_, err = p.Commit(w.Context(), session.SetOp("/", nil, -1))
				require.ErrorIs(w, err, session.ErrUntrusted)
				require.NoError(w, p.Err())
				heal()
				time.Sleep(time.Second)

				heal = h.Machine.Partition()
				w.Server.Expire(h.Session.Status().SessionID)
				time.Sleep(5 * time.Second)
				require.NoError(w, p.Err(), "it does not know")
				heal()
				bubble.Within(w, time.Minute, p.Done())
				require.ErrorIs(w, p.Err(), session.ErrExpired)
				_, err = barrier.New(h.Session, gatePath, opts...)
				require.ErrorIs(w, err, session.ErrUnsupported)
			})
		})
	}
}

// Whoever may not write is told so.
func TestARefusalIsReported(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.Host("a")
		_, err := h.Create(w.Context(), path, nil, session.Parents(), session.NodeACL(session.AnyoneACL(session.PermRead)...))
		require.NoError(w, err)
		d := w.double(h, 2)
		_, err = d.Enter(w.Context())
		require.ErrorIs(w, err, session.ErrNoAuth)
		d.Arrive()
		bubble.Within(w, time.Second, d.Done())
		require.ErrorIs(w, d.Err(), session.ErrNoAuth)
	})
}

// A passage that nobody receives, or that is never left, is logged, with the place where it
// was asked for: the others wait for it.
func TestAForgottenPassageIsLogged(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		log := new(bubble.Log)
		d := w.double(w.Host("a", log.Option()), 1, barrier.WithWarnAfter(3*time.Second))
		at := bubble.After(1)
		d.Arrive()
		time.Sleep(3*time.Second - time.Millisecond)
		synctest.Wait()
		require.Empty(w, log.Warnings(path))
		time.Sleep(2 * time.Minute)
		require.Len(w, log.Warnings(path), 3, "after three seconds, ten, and a minute")
		require.Contains(w, log.Warnings(path)[0], "received")
		require.Contains(w, log.Warnings(path)[0], at)
		leave(w, <-d.Entered())

		p, err := d.Enter(w.Context())
		require.NoError(w, err)
		time.Sleep(11 * time.Minute)
		require.Len(w, log.Warnings(path), 7, "the fourth after ten minutes")
		require.Contains(w, log.Warnings(path)[3], "a party has not departed, and the others go no further")
		leave(w, p)
	})
}
