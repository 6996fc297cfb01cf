package election_test

// Run: a function that leads, however it ends; terms that end at once; the reading of a term.

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

// start runs f as a leader, and returns what Run returns.
func start(ctx context.Context, e *election.Election, f func(ctx context.Context, t *election.Term) error) <-chan error {
	result := make(chan error, 1)
	go func() { result <- e.Run(ctx, f) }() // owned by the test, which waits for its result
	return result
}

// idle is a leader's function that is never called.
func idle(context.Context, *election.Term) error { panic("called") }

// B42: whatever ends a run, the leader's function is told by its context, and its znode goes only
// when it has returned.
func TestB42_TheZnodeGoesAfterTheFunction(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(ctx context.Context, cancel context.CancelFunc, e *election.Election){
		"the caller's context ends": func(_ context.Context, cancel context.CancelFunc, _ *election.Election) { cancel() },
		"the candidate is closed":   func(ctx context.Context, _ context.CancelFunc, e *election.Election) { _ = e.Close(ctx) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble.Run(t, func(t *bubble.World) {
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
				bubble.Closes(t, began, "the function") // a leads a moment before
				waits(t, b)
				ended := make(chan struct{})
				go func() { // owned by the test, which waits for it
					defer close(ended)
					end(bubble.Minute(t), cancel, a)
				}()
				bubble.Closes(t, told, "the function's context")
				<-time.After(30 * time.Second)
				bubble.Never(t, b.Leader(), "a's function still runs")
				require.Equal(t, []string{"a", "b"}, line(t, b))
				close(cleanedUp)
				require.Error(t, bubble.Get(t, result, "run"))
				bubble.Closes(t, ended, "the end")
				bubble.Get(t, b.Leader(), "b leads")
				require.Equal(t, []string{"b"}, line(t, b))
			})
		})
	}
}

// B42: waiting for the function is bounded by Close's context.
func TestB42_CloseDoesNotWaitForEver(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		a, b := candidate(t, t.Session(), "a"), candidate(t, t.Session(), "b")
		stubborn := make(chan struct{})
		terms := make(chan *election.Term, 1)
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

// A lost term is no end of a run, and neither is an error by which the function says that it has
// heard of it. Another error is.
func TestRunTellsALossFromAFailure(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
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
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
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
			require.NoError(t, b.Resign(bubble.Minute(t)))
			return ctx.Err()
		})
		require.ErrorIs(t, err, enough)
	})
}

// A function that panics, or ends its goroutine, resigns all the same.
func TestRunResignsWhateverTheFunctionDoes(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		a, b := candidate(t, t.Session(), "a"), candidate(t, t.Session(), "b")
		require.PanicsWithValue(t, "boom", func() {
			_ = a.Run(bubble.Minute(t), func(context.Context, *election.Term) error { panic("boom") })
		})
		require.Empty(t, line(t, b))
		leads(t, b)
		require.NoError(t, a.Close(bubble.Minute(t)), "nothing is waited for")
	})
}

// B43: who never led is never told to stop.
func TestB43_NoEndWithoutABeginning(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		a, b := candidate(t, t.Session(), "a"), candidate(t, t.Session(), "b")
		leads(t, a)
		result := start(bubble.Minute(t), b, func(context.Context, *election.Term) error {
			t.Error("b never leads")
			return nil
		})
		standing := b.Standing(bubble.Minute(t))
		bubble.Await(t, standing, "b waits", func(s election.Standing) bool { return s.Phase == election.Waiting })
		synctest.Wait()
		require.NoError(t, b.Close(bubble.Minute(t)))
		require.ErrorIs(t, bubble.Get(t, result, "run"), session.ErrClosed)
		var phases []election.Phase
		for s := range standing {
			phases = append(phases, s.Phase)
		}
		require.NotContains(t, phases, election.Leading)
		require.Equal(t, election.Stopped, phases[len(phases)-1])
		bubble.Never(t, b.Leader(), "no term")
		require.Equal(t, []string{"a"}, line(t, a))
	})
}

// A leader's function that returns nil at once is called less and less often, up to every five
// seconds, and the log says so once. After a longer term that begins again.
func TestTermsThatEndAtOncePauseLongerEachTime(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		var log bubble.Log
		e := candidate(t, t.Session(log.Option()), "a")
		opened := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var began []time.Time
		result := start(ctx, e, func(context.Context, *election.Term) error {
			if began = append(began, time.Now()); len(began) == 12 {
				time.Sleep(time.Second)
			}
			return nil
		})
		require.ErrorIs(t, <-result, context.DeadlineExceeded)
		require.Equal(t, time.Minute, time.Since(opened), "it does not wait for the end of a pause")
		pauses := make([]time.Duration, 0, len(began))
		for i := range began[1:] {
			pauses = append(pauses, began[i+1].Sub(began[i]))
		}
		for n, least := range []time.Duration{75, 150, 300, 600, 1200, 2400, 3750, 3750, 3750, 3750, 3750, 1000, 75, 150} {
			require.GreaterOrEqual(t, pauses[n], least*time.Millisecond, n)
			require.Less(t, pauses[n], (2*least+100)*time.Millisecond, n)
		}
		require.Len(t, log.Warnings(path), 2, "one for each row")
	})
}

// A term that is short since its run ends says nothing of its function.
func TestATermThatItsRunCutsShortIsNotTooQuick(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(e *election.Election, cancel context.CancelFunc){
		"the caller's context ends": func(_ *election.Election, cancel context.CancelFunc) { cancel() },
		"the candidate is closed":   func(e *election.Election, _ context.CancelFunc) { go e.Close(context.Background()) }, // ends with the run
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble.Run(t, func(t *bubble.World) {
				var log bubble.Log
				e := candidate(t, t.Session(log.Option()), "a")
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				require.Error(t, <-start(ctx, e, func(ctx context.Context, _ *election.Term) error {
					end(e, cancel)
					<-ctx.Done()
					return nil
				}))
				require.Empty(t, log.Warnings(path))
			})
		})
	}
}

// Term is the term that is held, by whichever call; nil before it is received, and when it is over.
func TestTheTermCanBeRead(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		e := candidate(t, t.Session(), "a")
		require.Nil(t, e.Term())
		e.Campaign()
		time.Sleep(time.Second)
		require.Nil(t, e.Term(), "nobody has received it")
		term := bubble.Get(t, e.Leader(), "the term")
		require.Same(t, term, e.Term())
		require.NoError(t, e.Resign(bubble.Minute(t)))
		require.Nil(t, e.Term())
		term, err := e.Lead(bubble.Minute(t))
		require.NoError(t, err)
		require.Same(t, term, e.Term())
		require.NoError(t, term.Resign(bubble.Minute(t)))
		require.Nil(t, e.Term())
	})
}
