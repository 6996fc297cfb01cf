package barrier_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/session"
)

func TestAPanicWhileLeaving(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		team, passages := w.departing()
		team.doubles[0].Crash("a bug")
		time.Sleep(10 * time.Second)
		held(w, "one is inside", passages[:2]...)
		leave(w, passages...)
		leave(w, team.enter(w)...)
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
		bubble.Within(w, time.Minute, team.doubles[0].Done())
		require.ErrorIs(w, team.doubles[0].Err(), actors.ErrGivenUp)
		require.ErrorIs(w, passages[0].Err(), session.ErrRestarted)
		_, err := team.doubles[0].Enter(w.Context())
		require.ErrorIs(w, err, actors.ErrGivenUp)
		require.NoError(w, passages[1].Leave(w.Context()))
		synctest.Wait()
		require.Zero(w, w.standing())
	})
}
