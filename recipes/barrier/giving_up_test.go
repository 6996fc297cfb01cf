package barrier_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/barrier"
	"github.com/troupe-go/troupe/session"
)

// B58, CURATOR-318 and 80: whoever gives up before the round is open leaves nothing, and the
// others' verdict is the same for all.
func TestB58_GivingUpWithdraws(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		team := w.team(3)
		team.doubles[0].Arrive()
		ctx, cancel := context.WithTimeout(w.Context(), time.Second)
		defer cancel()
		_, err := team.doubles[1].Enter(ctx)
		require.ErrorIs(w, err, context.DeadlineExceeded)
		var oe *session.OpError
		require.ErrorAs(w, err, &oe)
		require.Equal(w, path, oe.Path)
		synctest.Wait()
		require.Equal(w, 1, w.standing())
		team.doubles[2].Arrive()
		bubble.Never(w, team.doubles[2].Entered(), "two of three, and one that gave up")
		passages := gather(w, team.doubles...)
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

// B59, CURATOR-233 and 536: a wait for the others' departure ends with its context. The party has
// departed all the same.
func TestB59_TheWaitForTheOthersIsBounded(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		team := w.team(2)
		passages := team.enter(w)
		w.Server.ClearJournal()
		ctx, cancel := context.WithTimeout(w.Context(), time.Hour)
		defer cancel()
		began := time.Now()
		require.ErrorIs(w, passages[0].Leave(ctx), context.DeadlineExceeded)
		require.Equal(w, time.Hour, time.Since(began))
		own := 0
		for _, r := range w.Server.Journal() {
			if r.Op != zkPing && r.Op != zkSync {
				own++
			}
		}
		require.Equal(w, 2, own, "one to depart and one to watch the other: no spinning")
		passages[1].Depart()
		bubble.Within(w, time.Second, passages[0].Left())
		bubble.Within(w, time.Second, passages[1].Left())
	})
}
