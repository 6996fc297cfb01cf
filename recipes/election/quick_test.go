package election_test

// Terms that end at once, and the reading of the term that is held.

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/election"
)

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
