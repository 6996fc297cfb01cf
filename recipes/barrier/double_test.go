package barrier_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/session"
)

func TestRoundAfterRound(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		team := w.team(3)
		token := int64(0)
		for round := range int64(5) {
			passages := team.enter(w)
			p := passages[0]
			require.Equal(w, round+1, p.Round())
			require.Equal(w, []string{"p0", "p1", "p2"}, p.Members())
			require.Greater(w, p.Token(), token)
			token = p.Token()
			leave(w, passages...)
			require.Zero(w, w.standing())
			require.Len(w, w.rounds(), 1, "the next")
		}
	})
}

func TestNobodyEntersBeforeAllAreThereNorHasLeftBeforeAllAreDone(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		team := w.team(3)
		team.doubles[0].Arrive()
		team.doubles[1].Arrive()
		time.Sleep(time.Minute)
		bubble.Never(w, team.doubles[0].Entered(), "two of three")
		passages := team.enter(w)
		passages[0].Depart()
		passages[2].Depart()
		time.Sleep(time.Minute)
		held(w, "one is inside", passages[:2]...)
		require.ErrorIs(w, passages[0].Err(), session.ErrReleased)
		require.NoError(w, passages[1].Err())
		passages[1].Depart()
		for _, p := range passages {
			bubble.Now(w, p.Left())
		}
	})
}

func TestASingleParty(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		d := w.double(w.Host("a"), 1)
		for range 3 {
			p, err := d.Enter(w.Context())
			require.NoError(w, err)
			require.Len(w, p.Members(), 1)
			require.NoError(w, p.Leave(w.Context()))
		}
	})
}

func TestManyCallersOfOneParty(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		team := w.team(2)
		const rounds = 20
		done := make(chan error, 2*rounds)
		for _, d := range team.doubles {
			for range rounds {
				go func() {
					p, err := d.Enter(w.Context())
					if err == nil {
						err = p.Leave(w.Context())
					}
					done <- err
				}()
			}
		}
		for range 2 * rounds {
			require.NoError(w, bubble.Within(w, time.Minute, done))
		}
	})
}

func TestArriveAgain(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		d := w.double(w.Host("a"), 1)
		d.Arrive()
		synctest.Wait()
		for range 10 { // on offer: it changes nothing
			d.Arrive()
			synctest.Wait()
		}
		p := bubble.Within(w, time.Second, d.Entered())
		d.Arrive() // at once, while inside: for the next round
		bubble.Never(w, d.Entered(), "inside already")
		p.Depart()
		next := bubble.Within(w, time.Second, d.Entered())
		require.Equal(w, p.Round()+1, next.Round())
		leave(w, next)
		bubble.Never(w, d.Entered(), "without being asked")
	})
}

func TestLeaveWithThePassagesOwnContext(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		team := w.team(2)
		passages := team.enter(w)
		done := make(chan error, 1)
		go func() { done <- passages[0].Leave(passages[0].Context()) }()
		time.Sleep(time.Second)
		require.NoError(w, passages[1].Leave(w.Context()))
		require.NoError(w, bubble.Within(w, time.Second, done))
	})
}

func TestClose(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		team := w.team(3)
		passages := team.enter(w)
		passages[0].Depart()
		synctest.Wait()
		for range 2 {
			require.NoError(w, team.doubles[0].Close(w.Context()), "departed, and waits for the others")
			require.NoError(w, team.doubles[1].Close(w.Context()), "inside")
		}
		require.ErrorIs(w, passages[1].Err(), session.ErrLost)
		require.ErrorIs(w, passages[1].Err(), session.ErrClosed)
		require.ErrorIs(w, passages[0].Leave(w.Context()), session.ErrClosed)
		require.Equal(w, 1, w.standing())
		require.NoError(w, passages[2].Leave(w.Context()), "the others don't hold it")
		waiting := w.asks(team.doubles[2])
		synctest.Wait()
		require.NoError(w, team.doubles[2].Close(w.Context()), "waiting")
		require.ErrorIs(w, bubble.Within(w, time.Second, waiting), session.ErrClosed)
		require.Zero(w, w.standing())
		require.ErrorIs(w, team.doubles[2].Err(), session.ErrClosed)
	})
}
