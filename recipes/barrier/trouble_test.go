package barrier_test

// Faults of a double barrier: expiries, lost replies, a deposed leader. The ends of a possession
// are in test/losses; deaths, deletions and refusals in internal/double.

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

// A passage that was not received yet is lost: the intent holds for the next round.
func TestAnOfferThatIsLost(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		team := newTeam(w, 2)
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

// A party waits on a leader that stands still while the last party arrives, and is deposed; the new
// leader ends the session of the waiting party, and the old leader wakes. Its old tree must not let
// the party in, of which the others know nothing.
func TestADeposedLeaderThatWakesLetsNobodyIn(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		bubble.Run(t, func(w *bubble.World) {
			on := func(name string, server int) *barrier.Double {
				return newDouble(w, w.HostOn(name, w.Server.Hosts()[server:server+1]), 2, barrier.WithName(name))
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
		}, bubble.Brisk(zktest.WithServers(3), zktest.WithTick(2*time.Second), zktest.WithSeed(seed+1))...)
	}
}

// Any reply or request of two rounds may be lost, of the party that opens and closes them or of
// another: all parties enter and leave, and nothing is left behind.
func TestLostReplies(t *testing.T) {
	t.Parallel()
	for hit, at := range map[string]int{"first": 0, "last": 2} {
		t.Run(hit, func(t *testing.T) {
			t.Parallel()
			bubble.EachFate(t, func(w *bubble.World, k int, strike func(s *session.Session)) {
				team := newTeam(w, 3)
				strike(team.hosts[at].Session)
				var parties sync.WaitGroup
				for i, d := range team.doubles { // one after the other: the last one opens, and closes
					parties.Go(func() { twoRounds(w, d, time.Duration(i)*time.Second) })
				}
				parties.Wait()
				require.Zero(w, partyZnodes(w), "k=%d", k)
				require.Len(w, rounds(w), 1, "k=%d", k)
			})
		})
	}
}

// twoRounds takes a party through two rounds. It may lose its passage for want of trust, but it
// learns that all have left.
func twoRounds(w *bubble.World, d *barrier.Double, pause time.Duration) {
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
	bubble.EachFate(t, func(w *bubble.World, k int, strike func(s *session.Session)) {
		team := newTeam(w, 2)
		breaker := w.Host("breaker")
		other := newDouble(w, breaker, 2)
		answer := beginEnter(w, team.doubles[0])
		synctest.Wait()
		strike(breaker.Session)
		require.NoError(w, other.Break(w.Context()), "k=%d", k)
		require.ErrorIs(w, bubble.Within(w, time.Minute, answer), barrier.ErrBroken, "k=%d", k)
		passages := team.enter(w)
		require.EqualValues(w, 2, passages[0].Round(), "k=%d", k)
		leave(w, passages...)
	})
}

// The other side of B58: the round opens while one of its parties gives up. ZooKeeper decides which
// came first, and a party that gave up holds no other.
func TestB58_GivingUpAtTheSameInstantAsTheOpening(t *testing.T) {
	t.Parallel()
	entered, withdrawn := 0, 0
	for seed := range uint64(60) {
		bubble.Run(t, func(w *bubble.World) {
			team := newTeam(w, 2)
			defer w.Server.Intercept(bubble.Slowly(seed))()
			ctx, cancel := context.WithTimeout(w.Context(), time.Duration(20+seed)*time.Millisecond)
			defer cancel()
			team.doubles[1].Arrive()
			p, err := team.doubles[0].Enter(ctx)
			select {
			case other := <-team.doubles[1].Entered():
				entered++
				passages := []*barrier.Passage{other}
				if err == nil {
					passages = append(passages, p)
				}
				leave(w, passages...)
			case <-time.After(time.Minute):
				require.Error(w, err)
				withdrawn++
			}
			leave(w, gather(w, team.doubles...)...) // the next round opens either way
		}, bubble.Brisk()...)
	}
	require.Positive(t, entered)
	require.Positive(t, withdrawn)
}

// With WithUntilExpiry a silence of 5 s of 6 ends trust, and neither the session nor the passage.
// (How a passage ends with trust: test/losses; by an expiry, with this option:
// session/loss_test.go.)
func TestAPassageUntilExpiry(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		p := gather(w, newDouble(w, w.Host("a"), 1, barrier.WithUntilExpiry()))[0]
		commit := func() error { _, err := p.Commit(w.Context(), session.SetOp("/", nil, -1)); return err }
		heal := w.Server.Isolate() // there is a connection, and no proof of life
		time.Sleep(5 * time.Second)
		require.False(w, p.Valid())
		require.ErrorIs(w, commit(), session.ErrUntrusted)
		require.NoError(w, p.Err())
		heal()
		time.Sleep(time.Second)
		require.True(w, p.Valid(), "with trust")
		require.NoError(w, commit())
	})
}

// A passage that is not received, or not left, is logged, with the call site that requested it: the
// others wait for it. (At which ages: recipe's tests of its alarm.)
func TestAForgottenPassageIsLogged(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		log := new(bubble.Log)
		d := newDouble(w, w.Host("a", log.Option()), 1, barrier.WithHeldWarning(3*time.Second))
		at := bubble.After(1)
		d.Arrive()
		time.Sleep(4 * time.Second)
		require.Len(w, log.Warnings(path), 1)
		require.Contains(w, log.Warnings(path)[0], "received")
		require.Contains(w, log.Warnings(path)[0], at)
		leave(w, <-d.Entered())

		p := must(d.Enter(w.Context()))
		time.Sleep(4 * time.Second)
		require.Len(w, log.Warnings(path), 2)
		require.Contains(w, log.Warnings(path)[1], "a party has not departed, and the others go no further")
		leave(w, p)
	})
}
