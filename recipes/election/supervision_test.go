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

// A panic in the candidate's actor ends its term, and nothing else: the intent goes on, and no
// znode is left over.
func TestAPanicEndsTheTermAndTheCampaignGoesOn(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		s := t.Session()
		a, other, b := candidate(t, s, "a"), candidate(t, s, "other"), candidate(t, t.Session(), "b")
		first := leads(t, a)
		waits(t, b)
		waits(t, other)
		a.Panic("boom")
		bubble.Closes(t, first.Done(), "the term")
		require.ErrorIs(t, first.Err(), session.ErrLost)
		require.ErrorIs(t, first.Err(), session.ErrRestarted)
		second := bubble.Get(t, b.Leader(), "b leads")
		require.Greater(t, second.Token(), first.Token())
		eventually(t, "a stands again, behind the others", func() bool { return len(line(t, b)) == 3 })
		require.Equal(t, []string{"b", "other", "a"}, line(t, b))
		require.NoError(t, other.Err(), "its neighbour in the session has noticed nothing")
		require.Equal(t, session.Connected, s.Status().State)
	})
}

// A candidate that waits keeps its place through a panic.
func TestAPanicCostsAWaiterNothing(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		a, b, c := candidate(t, t.Session(), "a"), candidate(t, t.Session(), "b"), candidate(t, t.Session(), "c")
		leads(t, a)
		waits(t, b)
		waits(t, c)
		b.Panic("boom")
		<-time.After(time.Minute)
		require.Equal(t, []string{"a", "b", "c"}, line(t, a))
		require.NoError(t, a.Resign(bubble.Minute(t)))
		bubble.Get(t, b.Leader(), "b leads")
	})
}

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
