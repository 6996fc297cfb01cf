package barrier_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/barrier"
)

func TestBreak(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		team := w.team(3)
		require.NoError(w, team.doubles[2].Break(w.Context()), "there is nothing to break")
		answers := []<-chan error{w.asks(team.doubles[0]), w.asks(team.doubles[1])}
		synctest.Wait()
		require.NoError(w, team.doubles[2].Break(w.Context()))
		for _, answer := range answers {
			err := bubble.Within(w, time.Second, answer)
			require.ErrorIs(w, err, barrier.ErrBroken)
			require.NotErrorIs(w, err, barrier.ErrCrowd)
		}
		synctest.Wait()
		require.Zero(w, w.standing())
		require.Len(w, w.rounds(), 1, "the broken round is gone")
		passages := team.enter(w)
		require.EqualValues(w, 2, passages[0].Round())
		require.NoError(w, team.doubles[0].Break(w.Context()), "what is open already stays so")
		require.True(w, passages[0].Valid())
		leave(w, passages...)
	})
}

func TestAStandingIntentTakesTheBreakWithIt(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		team := w.team(2)
		team.doubles[0].Arrive()
		synctest.Wait()
		require.NoError(w, team.doubles[1].Break(w.Context()))
		bubble.Within(w, time.Second, team.doubles[0].Done())
		require.ErrorIs(w, team.doubles[0].Err(), barrier.ErrBroken)
		_, err := team.doubles[0].Enter(w.Context())
		require.ErrorIs(w, err, barrier.ErrBroken)
		synctest.Wait()
		require.Zero(w, w.standing())
	})
}
