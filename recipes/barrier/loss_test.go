package barrier_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/session"
)

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

func TestExpiryWhileLeaving(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		team, passages := w.departing()
		w.Server.Expire(team.hosts[0].Status().SessionID)
		time.Sleep(10 * time.Second)
		held(w, "one is inside", passages[:2]...)
		w.Server.Expire(team.hosts[1].Status().SessionID)
		time.Sleep(10 * time.Second)
		passages[2].Depart()
		for _, p := range passages {
			bubble.Within(w, time.Second, p.Left())
		}
	})
}

func TestExpiryWhileWaiting(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		team := w.team(2)
		team.doubles[0].Arrive()
		synctest.Wait()
		w.Server.Expire(team.hosts[0].Status().SessionID)
		time.Sleep(10 * time.Second)
		require.Equal(w, 1, w.standing(), "it stands again")
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
