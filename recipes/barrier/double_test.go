package barrier_test

// Rounds of a double barrier as an application sees them. All orders of events, deaths and parties
// with one id are in the schedules of internal/double.

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/barrier"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// B61, Curator's PR 416.
func TestB61_NobodyEntersBeforeAllAreThereNorHasLeftBeforeAllAreDone(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		team := newTeam(w, 3)
		token := int64(0)
		for round := range int64(3) {
			mayCrash := func() {
				time.Sleep(time.Minute)
				if round == 2 {
					team.doubles[0].Crash("a bug") // it goes on where it was
					time.Sleep(time.Minute)
				}
			}
			team.doubles[0].Arrive()
			team.doubles[1].Arrive()
			mayCrash()
			bubble.Never(w, team.doubles[0].Entered(), "two of three")
			passages := team.enter(w)
			require.Equal(w, round+1, passages[0].Round())
			require.Equal(w, []string{"p0", "p1", "p2"}, passages[0].Members())
			require.Greater(w, passages[0].Token(), token)
			token = passages[0].Token()
			passages[0].Depart()
			passages[2].Depart()
			mayCrash()
			for _, p := range passages {
				bubble.Never(w, p.Left(), "one is inside")
			}
			require.ErrorIs(w, passages[0].Err(), session.ErrReleased)
			require.NoError(w, passages[1].Err())
			passages[1].Depart()
			for _, p := range passages {
				bubble.Now(w, p.Left())
			}
			require.Zero(w, partyZnodes(w))
			require.Len(w, rounds(w), 1, "the next")
		}
	})
}

// Callers leave with the context of the passage too, which ends before the others have departed.
func TestManyCallersOfOneParty(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		team := newTeam(w, 2)
		const rounds = 20
		done := make(chan error, 2*rounds)
		for _, d := range team.doubles {
			for range rounds {
				go func() {
					p, err := d.Enter(w.Context())
					if err == nil {
						err = p.Leave(p.Context())
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
	inBubble(t, func(w *bubble.World) {
		d := newDouble(w, w.Host("a"), 1)
		d.Arrive()
		synctest.Wait()
		for range 10 { // a passage is on offer: it changes nothing
			d.Arrive()
			synctest.Wait()
		}
		p := bubble.Within(w, time.Second, d.Entered())
		d.Arrive() // while inside: for the next round
		bubble.Never(w, d.Entered(), "inside already")
		p.Depart()
		next := bubble.Within(w, time.Second, d.Entered())
		require.Equal(w, p.Round()+1, next.Round())
		leave(w, next)
		bubble.Never(w, d.Entered(), "without being asked")
	})
}

func TestClose(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		team := newTeam(w, 3)
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
		require.Equal(w, 1, partyZnodes(w))
		require.NoError(w, passages[2].Leave(w.Context()), "the others don't hold it")
		waiting := beginEnter(w, team.doubles[2])
		synctest.Wait()
		require.NoError(w, team.doubles[2].Close(w.Context()), "waiting")
		require.ErrorIs(w, bubble.Within(w, time.Second, waiting), session.ErrClosed)
		require.Zero(w, partyZnodes(w))
		require.ErrorIs(w, team.doubles[2].Err(), session.ErrClosed)
	})
}

// B58, CURATOR-318 and 80: a party that gives up before the round is open leaves nothing.
func TestB58_GivingUpWithdraws(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		team := newTeam(w, 2)
		ctx, cancel := context.WithTimeout(w.Context(), time.Second)
		defer cancel()
		_, err := team.doubles[0].Enter(ctx)
		require.ErrorIs(w, err, context.DeadlineExceeded)
		var oe *session.OpError
		require.ErrorAs(w, err, &oe)
		require.Equal(w, path, oe.Path)
		synctest.Wait()
		require.Zero(w, partyZnodes(w))
		team.doubles[1].Arrive()
		bubble.Never(w, team.doubles[1].Entered(), "one of two, and one that gave up")
		leave(w, team.enter(w)...)
	})
}

// B59, CURATOR-233 and 536: a wait for the others' departure ends with its context, and does not
// spin. The party has departed all the same.
func TestB59_TheWaitForTheOthersIsBounded(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		passages := newTeam(w, 2).enter(w)
		w.Server.ClearJournal()
		ctx, cancel := context.WithTimeout(w.Context(), time.Hour)
		defer cancel()
		began := time.Now()
		require.ErrorIs(w, passages[0].Leave(ctx), context.DeadlineExceeded)
		require.Equal(w, time.Hour, time.Since(began))
		requests, _ := cost(w)
		require.InDelta(w, 2, requests, 0, "one to depart and one to watch the other")
		passages[1].Depart()
		bubble.Within(w, time.Second, passages[0].Left())
		bubble.Within(w, time.Second, passages[1].Left())
	})
}

func TestBreak(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		team := newTeam(w, 3)
		require.NoError(w, team.doubles[2].Break(w.Context()), "there is nothing to break")
		answers := []<-chan error{beginEnter(w, team.doubles[0]), beginEnter(w, team.doubles[1])}
		synctest.Wait()
		require.NoError(w, team.doubles[2].Break(w.Context()))
		for _, answer := range answers {
			err := bubble.Within(w, time.Second, answer)
			require.ErrorIs(w, err, barrier.ErrBroken)
			require.NotErrorIs(w, err, barrier.ErrCrowd)
		}
		synctest.Wait()
		require.Zero(w, partyZnodes(w))
		require.Len(w, rounds(w), 1, "the broken round is gone")
		passages := team.enter(w)
		require.EqualValues(w, 2, passages[0].Round())
		require.NoError(w, team.doubles[0].Break(w.Context()), "what is open already stays so")
		require.True(w, passages[0].Valid())
		leave(w, passages...)
	})
}

// Another party breaks the round just before this one's transaction: neither Break fails.
func TestTwoBreakOneRound(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		team := newTeam(w, 3)
		answer := beginEnter(w, team.doubles[0])
		synctest.Wait()
		var first []error
		defer w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
			if r.SessionID == team.hosts[1].Status().SessionID && r.Op == zktest.OpMulti && r.Ops[0].Op == zktest.OpSetData {
				first = append(first, team.doubles[2].Break(w.Context()))
			}
			return zktest.Pass
		})()
		require.NoError(w, team.doubles[1].Break(w.Context()))
		require.Equal(w, []error{nil}, first)
		require.ErrorIs(w, bubble.Within(w, time.Second, answer), barrier.ErrBroken)
	})
}

func TestDifferingParties(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		two, three := newDouble(w, w.Host("a"), 2), newDouble(w, w.Host("b"), 3)
		first := beginEnter(w, two)
		synctest.Wait()
		for _, answer := range []<-chan error{first, beginEnter(w, three)} {
			err := bubble.Within(w, time.Second, answer)
			require.ErrorIs(w, err, barrier.ErrBroken)
			require.ErrorIs(w, err, barrier.ErrDiffering)
		}
	})
}

// B62: more parties than agreed is an error of its own.
func TestB62_TooManyParties(t *testing.T) {
	inBubble(t, func(w *bubble.World) {
		team := newTeam(w, 2)
		passages := team.enter(w)
		third := newDouble(w, w.Host("c"), 2)
		_, err := third.Enter(w.Context())
		require.ErrorIs(w, err, barrier.ErrCrowd)
		require.NotErrorIs(w, err, barrier.ErrBroken, "the round goes on")
		for _, p := range passages {
			require.True(w, p.Valid())
		}
		third.Arrive()
		bubble.Within(w, time.Second, third.Done())
		require.ErrorIs(w, third.Err(), barrier.ErrCrowd)
		leave(w, passages...)
		synctest.Wait()
		require.Zero(w, partyZnodes(w))
	})
}
