package election_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// A panic in the candidate's actor ends its term, and nothing else: the intent goes on, and no
// znode is left over.
func TestAPanicEndsTheTermAndTheCampaignGoesOn(t *testing.T) {
	bubble(t, func(t *testing.T, z *zktest.Server) {
		s := connected(t, z)
		a, other, b := candidate(t, s, "a"), candidate(t, s, "other"), candidate(t, connected(t, z), "b")
		first := leads(t, a)
		waits(t, b)
		waits(t, other)
		a.Panic("boom")
		closes(t, first.Done(), "the term")
		require.ErrorIs(t, first.Err(), session.ErrLost)
		require.ErrorIs(t, first.Err(), session.ErrRestarted)
		second := get(t, b.Leader(), "b leads")
		require.Greater(t, second.Token(), first.Token())
		eventually(t, "a stands again, behind the others", func() bool { return len(line(t, b)) == 3 })
		require.Equal(t, []string{"b", "other", "a"}, line(t, b))
		require.NoError(t, other.Err(), "its neighbour in the session has noticed nothing")
		require.Equal(t, session.Connected, s.Status().State)
	})
}

// A candidate that waits keeps its place through a panic.
func TestAPanicCostsAWaiterNothing(t *testing.T) {
	bubble(t, func(t *testing.T, z *zktest.Server) {
		a, b, c := candidate(t, connected(t, z), "a"), candidate(t, connected(t, z), "b"), candidate(t, connected(t, z), "c")
		leads(t, a)
		waits(t, b)
		waits(t, c)
		b.Panic("boom")
		<-time.After(time.Minute)
		require.Equal(t, []string{"a", "b", "c"}, line(t, a))
		require.NoError(t, a.Resign(patience(t)))
		get(t, b.Leader(), "b leads")
	})
}

// An actor that panics again and again is given up: the candidate ends with the cause, its znode
// goes, and nothing else is touched.
func TestACandidateThatIsGivenUp(t *testing.T) {
	bubble(t, func(t *testing.T, z *zktest.Server) {
		system := actors.New(actors.WithRestarts(actors.Restarts{Min: time.Second, Max: time.Second, Limit: 2, Within: time.Hour}))
		defer func() { require.NoError(t, system.Close(patience(t))) }()
		s := open(t, z, session.WithSystem(system))
		defer func() { require.NoError(t, s.Close(patience(t))) }()
		connect(t, s)
		a, other := candidate(t, s, "a"), candidate(t, s, "other")
		term := leads(t, a)
		waits(t, other)
		standing := a.Standing(patience(t))
		for range 3 {
			a.Panic("boom")
			synctest.Wait()
			<-time.After(10 * time.Second)
		}
		closes(t, a.Done(), "the candidate")
		require.ErrorIs(t, a.Err(), actors.ErrGivenUp)
		require.ErrorContains(t, a.Err(), "boom")
		require.Error(t, term.Err())
		var last election.Standing
		for st := range standing {
			last = st
		}
		require.Equal(t, election.Failed, last.Phase)
		get(t, other.Leader(), "the other leads")
		require.Equal(t, []string{"other"}, line(t, other))
		require.NoError(t, s.Err())
	})
}
