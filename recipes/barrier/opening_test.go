package barrier_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/zktest"
)

// B60, GH-1290, K4, D1: a slow party, whose reads come long after the fast ones have come and gone
// as far as they can, still learns that its round was opened. The others wait for it, and for
// nothing more.
func TestB60_FastLeaversDoNotStrandASlowEnterer(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		team := w.team(3)
		for round := range 3 {
			slow := team.hosts[2].Status().SessionID
			stop := w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
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
			bubble.Never(w, fast[0].Left(), "the slow one is in, though it does not know yet")
			p := bubble.Within(w, time.Minute, team.doubles[2].Entered())
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
				w.Server.Disconnect(h.Status().SessionID)
			}
			time.Sleep(2 * time.Second)
			bubble.Never(w, team.doubles[0].Entered(), "two of three")
		}
		require.Equal(w, 2, w.standing())
		leave(w, team.enter(w)...)
	})
}

// B61, Curator's PR 416: the opening, told late, wakes nobody into leaving; and what wakes those
// who leave lets nobody in.
func TestB61_TheOpeningWakesNobodyIntoLeaving(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		team := w.team(3)
		passages := team.enter(w)
		for _, p := range passages {
			bubble.Never(w, p.Left(), "nobody has departed")
			require.NoError(w, p.Err())
		}
		require.Equal(w, 3, w.standing())
		passages[1].Depart()
		time.Sleep(10 * time.Second)
		held(w, "two are inside", passages...)
		require.True(w, passages[0].Valid())
		require.True(w, passages[2].Valid())
		leave(w, passages...)
	})
}
