package election_test

// Run: the ends of the leader's function, and terms that end at once.

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/session"
)

// start calls Run beside the test.
func start(ctx context.Context, e *election.Election, f func(ctx context.Context, t *election.Term) error) <-chan error {
	return bubble.Begin(func() error { return e.Run(ctx, f) })
}

// idle is a leader's function that is never called.
func idle(context.Context, *election.Term) error { panic("called") }

// ends are the ways to end a run from outside.
var ends = map[string]func(cancel context.CancelFunc, e *election.Election) error{
	"the caller's context ends": func(cancel context.CancelFunc, _ *election.Election) error { cancel(); return nil },
	"the candidate is closed":   func(_ context.CancelFunc, e *election.Election) error { return e.Close(context.Background()) },
}

// B42: if a run is ended, the context of the leader's function ends, and its znode is deleted only
// when it has returned.
func TestB42_TheZnodeGoesAfterTheFunction(t *testing.T) {
	eachRow(t, ends, func(t *bubble.World, end func(cancel context.CancelFunc, e *election.Election) error) {
		a, b := candidate(t, t.Session(), "a"), candidate(t, t.Session(), "b")
		ctx, cancel := context.WithCancel(bubble.Minute(t))
		began, told, cleanedUp := make(chan struct{}), make(chan struct{}), make(chan struct{})
		result := start(ctx, a, func(ctx context.Context, _ *election.Term) error {
			close(began)
			<-ctx.Done()
			close(told)
			<-cleanedUp
			return nil
		})
		bubble.Closes(t, began, "the function")
		waits(t, b)
		ended := bubble.Begin(func() error { return end(cancel, a) })
		bubble.Closes(t, told, "the function's context")
		time.Sleep(30 * time.Second)
		bubble.Never(t, b.Leader(), "a's function still runs")
		require.Equal(t, []string{"a", "b"}, idsOf(t, b))
		close(cleanedUp)
		require.Error(t, bubble.Get(t, result, "run"))
		require.NoError(t, bubble.Get(t, ended, "the end"))
		bubble.Get(t, b.Leader(), "b leads")
		require.Equal(t, []string{"b"}, idsOf(t, b))
	})
}

// B42: waiting for the function is bounded by Close's context.
func TestB42_CloseDoesNotWaitForEver(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		a, b := candidate(t, t.Session(), "a"), candidate(t, t.Session(), "b")
		stubborn, terms := make(chan struct{}), make(chan *election.Term, 1)
		result := start(bubble.Minute(t), a, func(_ context.Context, term *election.Term) error {
			terms <- term
			<-stubborn
			return nil
		})
		term := bubble.Get(t, terms, "a leads")
		waits(t, b)
		ctx, cancel := context.WithTimeout(bubble.Minute(t), 5*time.Second)
		defer cancel()
		require.ErrorIs(t, a.Close(ctx), context.DeadlineExceeded)
		bubble.Closes(t, term.Done(), "the term")
		require.ErrorIs(t, term.Err(), session.ErrClosed)
		bubble.Closes(t, a.Done(), "the candidate")
		bubble.Get(t, b.Leader(), "b leads")
		close(stubborn)
		require.ErrorIs(t, bubble.Get(t, result, "run"), session.ErrClosed)
	})
}

// Neither a lost term ends a run, nor an error of the function that follows from the loss. Any
// other error does.
func TestRunTellsALossFromAFailure(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		s := t.Session()
		a := candidate(t, s, "a")
		broken := errors.New("broken")
		answers := []func(ctx context.Context) error{
			func(ctx context.Context) error { return ctx.Err() },
			func(ctx context.Context) error { return context.Cause(ctx) },
			func(context.Context) error { return nil },
			func(ctx context.Context) error { return errors.Join(errors.New("serving"), ctx.Err()) },
			func(context.Context) error { return session.ErrLost },
			func(context.Context) error { return broken },
		}
		calls := 0
		err := a.Run(bubble.Minute(t), func(ctx context.Context, _ *election.Term) error {
			t.Server.Expire(s.Status().SessionID)
			bubble.Closes(t, ctx.Done(), "the term's context")
			require.ErrorIs(t, context.Cause(ctx), session.ErrLost)
			calls++
			return answers[calls-1](ctx)
		})
		require.ErrorIs(t, err, broken)
		require.Equal(t, len(answers), calls)
	})
}

// The function may resign by itself.
func TestRunGoesOnAfterAResignationInside(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		a, b := candidate(t, t.Session(), "a"), candidate(t, t.Session(), "b")
		enough := errors.New("enough")
		waited := false
		err := a.Run(bubble.Minute(t), func(ctx context.Context, term *election.Term) error {
			if waited {
				return enough
			}
			waited = true
			waits(t, b)
			require.NoError(t, term.Resign(ctx), "confirmed, though this context ends with the term")
			bubble.Closes(t, ctx.Done(), "the function's context")
			require.ErrorIs(t, context.Cause(ctx), session.ErrReleased)
			bubble.Get(t, b.Leader(), "b leads")
			require.NoError(t, b.Withdraw(bubble.Minute(t)))
			return ctx.Err()
		})
		require.ErrorIs(t, err, enough)
	})
}

// A function that panics, or ends its goroutine, resigns all the same.
func TestRunResignsWhateverTheFunctionDoes(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		a, b := candidate(t, t.Session(), "a"), candidate(t, t.Session(), "b")
		require.PanicsWithValue(t, "boom", func() {
			_ = a.Run(bubble.Minute(t), func(context.Context, *election.Term) error { panic("boom") })
		})
		require.Empty(t, idsOf(t, b))
		leads(t, b)
		require.NoError(t, a.Close(bubble.Minute(t)), "nothing is waited for")
	})
}

// B43: a candidate that never led is never told to stop.
func TestB43_NoEndWithoutABeginning(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		a, b := candidate(t, t.Session(), "a"), candidate(t, t.Session(), "b")
		leads(t, a)
		result := start(bubble.Minute(t), b, func(context.Context, *election.Term) error {
			t.Error("b never leads")
			return nil
		})
		statuses := b.ObserveStatus(bubble.Minute(t))
		reaches(t, b, election.Waiting)
		synctest.Wait()
		require.NoError(t, b.Close(bubble.Minute(t)))
		require.ErrorIs(t, bubble.Get(t, result, "run"), session.ErrClosed)
		var states []election.State
		for s := range statuses {
			states = append(states, s.State)
		}
		require.NotContains(t, states, election.Leading)
		require.Equal(t, election.Stopped, states[len(states)-1])
		bubble.Never(t, b.Leader(), "no term")
		require.Equal(t, []string{"a"}, idsOf(t, a))
	})
}

// A leader's function that returns nil at once is called less and less often, up to every five
// seconds, and the log says so once in a row of such terms. After a longer term that begins again.
func TestTermsThatEndAtOncePauseLongerEachTime(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		var log bubble.Log
		e := candidate(t, t.Session(log.Option()), "a")
		opened := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var began []time.Time
		const long = 12 // the number of the term that lasts a second, which is not too quick
		result := start(ctx, e, func(context.Context, *election.Term) error {
			began = append(began, time.Now())
			if len(began) == long {
				time.Sleep(time.Second)
			}
			return nil
		})
		require.ErrorIs(t, <-result, context.DeadlineExceeded)
		require.Equal(t, time.Minute, time.Since(opened), "it does not wait for the end of a pause")
		// A pause is from ¾ to 5/4 of 100 ms, 200 ms, 400 ms, … 5 s. Behind the long term is none.
		least := []time.Duration{75, 150, 300, 600, 1200, 2400, 3750, 3750, 3750, 3750, 3750, long - 1: 1000, 75, 150}
		for n, ms := range least { // from the beginning of a term to the next
			pause := began[n+1].Sub(began[n])
			require.GreaterOrEqual(t, pause, ms*time.Millisecond, n)
			require.Less(t, pause, (2*ms+100)*time.Millisecond, n)
		}
		require.Len(t, log.Warnings(path), 2, "one for the terms before the long one, and one for those behind")
	})
}

// A term that is short because its run ends is not too quick.
func TestATermThatItsRunCutsShortIsNotTooQuick(t *testing.T) {
	eachRow(t, ends, func(t *bubble.World, end func(cancel context.CancelFunc, e *election.Election) error) {
		var log bubble.Log
		e := candidate(t, t.Session(log.Option()), "a")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		require.Error(t, <-start(ctx, e, func(ctx context.Context, _ *election.Term) error {
			bubble.Begin(func() error { return end(cancel, e) })
			<-ctx.Done()
			return nil
		}))
		require.Empty(t, log.Warnings(path))
	})
}

// A term that was handed over at once is no mistake: the log does not warn of it, but of the next
// that ends at once by itself. The pauses stay, so that functions that hand over to each other do
// not go as fast as ZooKeeper can.
func TestATransferAtOnceIsNotWarnedOf(t *testing.T) {
	inBubble(t, func(t *bubble.World) {
		var log bubble.Log
		a, b := candidate(t, t.Session(log.Option()), "a"), candidate(t, t.Session(), "b")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		terms, over := make(chan *election.Term, 1), make(chan struct{}, 1) // a function lasts until the test says over
		result := start(ctx, a, func(_ context.Context, term *election.Term) error {
			terms <- term
			select {
			case <-over:
			case <-ctx.Done():
			}
			return nil
		})
		ended := time.Now()
		for n := range 4 {
			term := bubble.Get(t, terms)
			require.GreaterOrEqual(t, time.Since(ended), []time.Duration{0, 75, 150, 300}[n]*time.Millisecond)
			require.Len(t, log.Warnings(path), []int{0, 0, 0, 1}[n], "before term %d", n)
			if n < 2 {
				waits(t, b)
				require.NoError(t, term.TransferTo(bubble.Minute(t), must(a.Candidates(bubble.Minute(t)))[1]))
				bubble.Get(t, b.Leader(), "b leads")
				require.NoError(t, b.Withdraw(bubble.Minute(t)))
			}
			over <- struct{}{}
			ended = time.Now()
		}
		cancel()
		require.ErrorIs(t, bubble.Get(t, result), context.Canceled)
		require.Len(t, log.Warnings(path), 1)
	})
}
