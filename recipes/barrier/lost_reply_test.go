package barrier_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/barrier"
	"github.com/troupe-go/troupe/session"
)

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

// The same for one who gives up while the answer is being looked for: it leaves nothing, and the
// others are not held.
func TestLostRepliesOfOneWhoGivesUp(t *testing.T) {
	t.Parallel()
	inEachFate(t, func(w *world, k int, strike func(s *session.Session)) {
		team := w.team(2)
		strike(team.hosts[0].Session)
		ctx, cancel := context.WithCancel(w.Context())
		done := make(chan error, 1)
		go func() { _, err := team.doubles[0].Enter(ctx); done <- err }()
		synctest.Wait()
		cancel()
		require.ErrorIs(w, bubble.Within(w, time.Minute, done), context.Canceled)
		time.Sleep(10 * time.Second)
		require.Zero(w, w.standing(), "k=%d", k)
		leave(w, team.enter(w)...)
	})
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
