package barrier_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/recipes/barrier"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// B60, GH-1290, K4, D1: a slow party, whose reads come long after the fast ones have come and gone as far as they can, still learns that its round was opened. The
// others wait for it, and for nothing more.
func TestB60_FastLeaversDoNotStrandASlowEnterer(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		team := w.team(3)
		for round := range 3 {
			slow := team.hosts[2].Status().SessionID
			stop := w.server.Intercept(func(r *zktest.Request) zktest.Verdict {
				if r.SessionID == slow && (r.Op == zktest.OpGetData || r.Op == zktest.OpGetChildren2) {
					return zktest.Delay(time.Second) // well below what a session takes for a dead connection
				}
				return zktest.Pass
			})
			team.doubles[2].Arrive()
			synctest.Wait()
			fast := gather(w, team.doubles[:2]...)
			for _, p := range fast {
				p.Depart()
			}
			never(w, fast[0].Left(), "the slow one is in, though it does not know yet")
			p := within(w, time.Minute, team.doubles[2].Entered())
			require.EqualValues(w, round+1, p.Round())
			require.Equal(w, fast[0].Members(), p.Members())
			stop()
			leave(w, append(fast, p)...)
		}
	})
}

// B60: a reconnection, with whatever it fires, opens nothing.
func TestB60_AReconnectionOpensNothing(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		team := w.team(3)
		team.doubles[0].Arrive()
		team.doubles[1].Arrive()
		synctest.Wait()
		for range 20 {
			for _, h := range team.hosts {
				w.server.Disconnect(h.Status().SessionID)
			}
			time.Sleep(2 * time.Second)
			never(w, team.doubles[0].Entered(), "two of three")
		}
		require.Equal(w, 2, w.standing())
		leave(w, team.enter(w)...)
	})
}

// B61, Curator's PR 416: the opening, told late, wakes nobody into leaving; and what wakes those who leave lets nobody in.
func TestB61_TheOpeningWakesNobodyIntoLeaving(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		team := w.team(3)
		passages := team.enter(w)
		for _, p := range passages {
			never(w, p.Left(), "nobody has departed")
			require.NoError(w, p.Err())
		}
		require.Equal(w, 3, w.standing())
		passages[1].Depart()
		time.Sleep(10 * time.Second)
		for _, p := range passages {
			never(w, p.Left(), "two are inside")
		}
		require.True(w, passages[0].Valid())
		require.True(w, passages[2].Valid())
		leave(w, passages...)
	})
}

// B63: a party that dies before the round is open does not open it.
func TestB63_WhoDiesBeforeTheOpeningDoesNotCount(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		team := w.team(3)
		team.doubles[0].Arrive()
		synctest.Wait()
		team.hosts[0].machine.Partition()
		time.Sleep(20 * time.Second) // its session is over
		require.Zero(w, w.standing())
		team.doubles[1].Arrive()
		team.doubles[2].Arrive()
		time.Sleep(10 * time.Second)
		never(w, team.doubles[1].Entered(), "two of three")
		replacement := w.double(w.host("new"), 3, barrier.WithID("p0"))
		leave(w, gather(w, replacement, team.doubles[1], team.doubles[2])...)
	})
}

// B63, K5: a party that dies inside does not hold the others, whichever it is in their order and whether it dies before or after they depart; and they do not leave
// while one of them is inside.
func TestB63_WhoDiesInsideHoldsNobody(t *testing.T) {
	t.Parallel()
	for dead := range 4 {
		for _, before := range []bool{true, false} {
			inBubble(t, func(w *world) {
				team := w.team(4)
				passages := team.enter(w)
				last := (dead + 2) % 4
				die := func() { w.server.Expire(team.hosts[dead].Status().SessionID) }
				team.hosts[dead].machine.Partition()
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
						never(w, p.Left(), "one is inside")
					}
				}
				passages[last].Depart()
				for i, p := range passages {
					if i != dead {
						now(w, p.Left())
					}
				}
				require.Zero(w, w.standing())
			})
		}
	}
}

// All but one die, in every order that two can.
func TestB63_TheLastOneLeft(t *testing.T) {
	t.Parallel()
	for i := range 3 {
		for j := range 3 {
			if i == j {
				continue
			}
			inBubble(t, func(w *world) {
				team := w.team(3)
				passages := team.enter(w)
				p := passages[3-i-j]
				p.Depart()
				synctest.Wait()
				for _, dead := range []int{i, j} {
					team.hosts[dead].machine.Partition()
					never(w, p.Left(), "somebody lives")
					w.server.Expire(team.hosts[dead].Status().SessionID)
				}
				now(w, p.Left())
			})
		}
	}
}

// Everybody dies inside. What is left of the round goes with whoever comes next.
func TestARoundOfTheDeadIsCleanedUp(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		team := w.team(2)
		passages := team.enter(w)
		passages[0].Depart()
		synctest.Wait()
		for _, h := range team.hosts {
			h.machine.Partition()
			w.server.Expire(h.Status().SessionID)
		}
		require.Len(w, w.rounds(), 2)
		a, b := w.double(w.host("a"), 2), w.double(w.host("b"), 2)
		leave(w, gather(w, a, b)...)
		require.Len(w, w.rounds(), 1)
	})
}

// An epoch ends while its party is inside: the passage is lost, the others are not held, and Left tells when they are gone, in the next epoch.
func TestExpiryInside(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		team := w.team(3)
		passages := team.enter(w)
		w.server.Expire(team.hosts[0].Status().SessionID)
		within(w, time.Second, passages[0].Done())
		require.ErrorIs(w, passages[0].Err(), session.ErrLost)
		require.ErrorIs(w, passages[0].Leave(w.Context()), session.ErrLost)
		time.Sleep(10 * time.Second)
		never(w, passages[0].Left(), "others are inside")
		passages[1].Depart()
		time.Sleep(10 * time.Second)
		never(w, passages[0].Left(), "one is inside")
		passages[2].Depart()
		for _, p := range passages {
			within(w, time.Second, p.Left())
		}
		leave(w, team.enter(w)...)
	})
}

func TestExpiryWhileLeaving(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		team := w.team(3)
		passages := team.enter(w)
		passages[0].Depart()
		passages[1].Depart()
		synctest.Wait()
		w.server.Expire(team.hosts[0].Status().SessionID)
		time.Sleep(10 * time.Second)
		never(w, passages[0].Left(), "one is inside")
		never(w, passages[1].Left(), "one is inside")
		w.server.Expire(team.hosts[1].Status().SessionID)
		time.Sleep(10 * time.Second)
		passages[2].Depart()
		for _, p := range passages {
			within(w, time.Second, p.Left())
		}
	})
}

func TestExpiryWhileWaiting(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		team := w.team(2)
		team.doubles[0].Arrive()
		synctest.Wait()
		w.server.Expire(team.hosts[0].Status().SessionID)
		time.Sleep(10 * time.Second)
		require.Equal(w, 1, w.standing(), "it stands again")
		leave(w, team.enter(w)...)
	})
}

// A partition: the passage ends at the instant at which trust does, before ZooKeeper lets the others go, network or no network.
func TestAPassageEndsBeforeTheOthersAreLetGo(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		team := w.team(2)
		passages := team.enter(w)
		passages[1].Depart()
		until := team.hosts[0].Status().TrustedUntil
		heal := team.hosts[0].machine.Partition()
		within(w, time.Minute, passages[0].Done())
		lost := time.Now()
		require.False(w, lost.After(until.Add(time.Second)), "%v, trusted until %v", lost, until)
		require.ErrorIs(w, passages[0].Err(), session.ErrUntrusted)
		never(w, passages[1].Left(), "its session lives, at the server")
		within(w, time.Minute, passages[1].Left())
		require.Positive(w, time.Since(lost))
		heal()
		within(w, time.Minute, passages[0].Left())
		leave(w, team.enter(w)...)
	})
}

// A short partition: the passage is lost, the session lives. The party departs as soon as it can say so.
func TestAPassageThatIsLostForWantOfTrustDeparts(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		team := w.team(2)
		passages := team.enter(w)
		passages[1].Depart()
		heal := team.hosts[0].machine.Partition()
		within(w, time.Minute, passages[0].Done())
		heal()
		within(w, time.Minute, passages[0].Left())
		within(w, time.Minute, passages[1].Left())
		require.EqualValues(w, 1, team.hosts[0].Status().Epoch)
	})
}

// I6: the own znode is watched. Whoever waits stands again, whoever is inside has lost its passage within a round trip, and the others are not held.
func TestTheOwnZnodeIsDeleted(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		team := w.team(2)
		admin := w.host("admin")
		team.doubles[0].Arrive()
		synctest.Wait()
		w.deleteParty(admin, "p0")
		synctest.Wait()
		require.Equal(w, 1, w.standing())
		passages := team.enter(w)
		w.deleteParty(admin, "p0")
		now(w, passages[0].Done())
		require.ErrorIs(w, passages[0].Err(), session.ErrDeleted)
		passages[1].Depart()
		now(w, passages[1].Left())
		now(w, passages[0].Left())
		leave(w, team.enter(w)...)
	})
}

// Somebody deletes the znode of one that has departed: that is no end of the round.
func TestTheZnodeOfOneWhoDepartedIsDeleted(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		team := w.team(3)
		passages := team.enter(w)
		passages[0].Depart()
		passages[1].Depart()
		synctest.Wait()
		w.deleteParty(w.host("admin"), "p0")
		never(w, passages[0].Left(), "one is inside")
		never(w, passages[1].Left(), "one is inside")
		leave(w, passages...)
	})
}

// Somebody deletes the whole barrier. Who waited stands again, in a barrier made anew.
func TestTheBarrierIsDeleted(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		team := w.team(2)
		leave(w, team.enter(w)...)
		team.doubles[0].Arrive()
		synctest.Wait()
		require.NoError(w, w.host("admin").DeleteAll(w.Context(), path))
		leave(w, team.enter(w)...)
		leave(w, team.enter(w)...)
	})
}

// A process dies and is started anew before ZooKeeper knows: under its id it takes its own place, and both rounds that it meets go on.
func TestAProcessStartedAnew(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		team := w.team(3)
		team.doubles[0].Arrive()
		synctest.Wait()
		team.hosts[0].machine.Partition()
		anew := w.double(w.host("anew"), 3, barrier.WithID("p0"))
		anew.Arrive()
		team.doubles[1].Arrive()
		time.Sleep(time.Second)
		never(w, anew.Entered(), "two of three, and one of them twice")
		passages := gather(w, anew, team.doubles[1], team.doubles[2])
		require.Equal(w, []string{"p0", "p1", "p2"}, passages[0].Members())

		again := w.double(w.host("again"), 3, barrier.WithID("p0"))
		again.Arrive() // while the round goes on, full: it is not one too many
		never(w, again.Entered(), "the next round")
		require.NoError(w, again.Err())
		leave(w, passages...)
		leave(w, gather(w, again, team.doubles[1], team.doubles[2])...)
	})
}

// Of two living parties with one id the later is in, and the earlier is told.
func TestTwoPartiesWithOneID(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		first, second := w.double(w.host("a"), 2, barrier.WithID("same")), w.double(w.host("b"), 2, barrier.WithID("same"))
		other := w.double(w.host("c"), 2)
		errs := make(chan error, 1)
		go func() { _, err := first.Enter(w.Context()); errs <- err }()
		synctest.Wait()
		second.Arrive()
		never(w, second.Entered(), "two of one id")
		passages := gather(w, second, other)
		require.ErrorIs(w, within(w, time.Second, errs), barrier.ErrReplaced)
		leave(w, passages...)
	})
}

// deleteParty deletes the znode of a party in the newest round that it stands in.
func (w *world) deleteParty(h *host, id string) {
	w.Helper()
	rounds, _, err := h.Children(w.Context(), path)
	require.NoError(w, err)
	for _, round := range rounds {
		names, _, err := h.Children(w.Context(), path+"/"+round)
		require.NoError(w, err)
		for _, name := range names {
			if len(name) > len(id) && name[len(name)-len(id)-1:] == "-"+id {
				require.NoError(w, h.Delete(w.Context(), path+"/"+round+"/"+name, -1))
				return
			}
		}
	}
	w.Fatalf("%s stands nowhere\n%s", id, w.server.Dump())
}

func TestAPanicEndsThePassageAndKeepsTheIntent(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		team := w.team(2)
		passages := team.enter(w)
		team.doubles[0].Crash("a bug")
		within(w, time.Second, passages[0].Done())
		require.ErrorIs(w, passages[0].Err(), session.ErrRestarted)
		time.Sleep(10 * time.Second)
		never(w, passages[0].Left(), "one is inside")
		passages[1].Depart()
		within(w, time.Second, passages[0].Left())
		within(w, time.Second, passages[1].Left())
		team.doubles[0].Arrive()
		synctest.Wait()
		team.doubles[0].Crash(errors.New("another"))
		time.Sleep(10 * time.Second)
		require.Equal(w, 1, w.standing())
		leave(w, team.enter(w)...)
	})
}

func TestAPanicWhileLeaving(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		team := w.team(3)
		passages := team.enter(w)
		passages[0].Depart()
		passages[1].Depart()
		synctest.Wait()
		team.doubles[0].Crash("a bug")
		time.Sleep(10 * time.Second)
		never(w, passages[0].Left(), "one is inside")
		never(w, passages[1].Left(), "one is inside")
		leave(w, passages...)
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
		p := within(w, time.Second, team.doubles[1].Entered())
		synctest.Wait()
		w.server.Expire(team.hosts[0].Status().SessionID)
		time.Sleep(time.Second)
		never(w, team.doubles[0].Entered(), "it was lost")
		leave(w, p)
		team.doubles[1].Arrive()
		q := within(w, time.Minute, team.doubles[0].Entered())
		require.Equal(w, p.Round()+1, q.Round())
		leave(w, q, within(w, time.Minute, team.doubles[1].Entered()))
	})
}

func TestGivenUp(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		team := w.team(2)
		passages := team.enter(w)
		for range 12 {
			team.doubles[0].Crash("again")
			time.Sleep(time.Second)
		}
		within(w, time.Minute, team.doubles[0].Done())
		require.ErrorIs(w, team.doubles[0].Err(), actors.ErrGivenUp)
		require.ErrorIs(w, passages[0].Err(), session.ErrRestarted)
		_, err := team.doubles[0].Enter(w.Context())
		require.ErrorIs(w, err, actors.ErrGivenUp)
		require.NoError(w, passages[1].Leave(w.Context()))
		synctest.Wait()
		require.Zero(w, w.standing())
	})
}

func TestStrictSessions(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		a, b := w.double(w.host("a", session.WithStrict()), 2), w.double(w.host("b"), 2)
		passages := gather(w, a, b)
		w.server.Disconnect(passages[0].Session().Status().SessionID)
		within(w, time.Second, passages[0].Done())
		require.ErrorIs(w, passages[0].Err(), session.ErrSuspended)
		passages[1].Depart()
		within(w, time.Second, passages[1].Left())
		within(w, time.Second, passages[0].Left())
	})
}

// Whoever may not write is told so.
func TestARefusalIsReported(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		h := w.host("a")
		_, err := h.Create(w.Context(), path, nil, session.Parents(), session.NodeACL(session.AnyoneACL(session.PermRead)...))
		require.NoError(w, err)
		d := w.double(h, 2)
		_, err = d.Enter(w.Context())
		require.ErrorIs(w, err, session.ErrNoAuth)
		d.Arrive()
		within(w, time.Second, d.Done())
		require.ErrorIs(w, d.Err(), session.ErrNoAuth)
	})
}
