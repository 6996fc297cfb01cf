package election_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/session"
)

// An actor that panics again and again is given up: the candidate ends with the cause, its znode
// goes, and nothing else is touched.
func TestACandidateThatIsGivenUp(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		system := actors.New(actors.WithRestarts(actors.Restarts{Min: time.Second, Max: time.Second, Limit: 2, Within: time.Hour}))
		defer func() { require.NoError(t, system.Close(bubble.Minute(t))) }()
		s := t.Unconnected(session.WithSystem(system))
		defer func() { require.NoError(t, s.Close(bubble.Minute(t))) }()
		require.NoError(t, s.Connect(bubble.Minute(t)))
		a, other := candidate(t, s, "a"), candidate(t, s, "other")
		term := leads(t, a)
		waits(t, other)
		standing := a.Standing(bubble.Minute(t))
		for range 3 {
			a.Panic("boom")
			synctest.Wait()
			<-time.After(10 * time.Second)
		}
		bubble.Closes(t, a.Done(), "the candidate")
		require.ErrorIs(t, a.Err(), actors.ErrGivenUp)
		require.ErrorContains(t, a.Err(), "boom")
		require.Error(t, term.Err())
		var last election.Standing
		for st := range standing {
			last = st
		}
		require.Equal(t, election.Failed, last.Phase)
		bubble.Get(t, other.Leader(), "the other leads")
		require.Equal(t, []string{"other"}, line(t, other))
		require.NoError(t, s.Err())
	})
}
