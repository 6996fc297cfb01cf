package docs_test

// What the page on ZooKeeper's Java recipes says of the states of an election.

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/election"
)

// The states of java-recipes.md, in the order in which they come: the server is slow, so that none
// is replaced before it is received.
func TestEveryStateOfAnElectionIsAPhase(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		candidate := func(host string) *election.Election {
			e, err := election.New(t.Session(), "/election", election.WithID(host))
			require.NoError(t, err)
			return e
		}
		first, second := candidate("first"), candidate("second")
		first.Campaign()
		term := <-first.Leader()
		defer t.Server.Intercept(bubble.Slowly(1))()
		var seen []election.Standing
		listener := second.Standing(t.Context())
		phase := func() election.Standing {
			s := <-listener
			seen = append(seen, s)
			return s
		}
		require.Equal(t, election.Idle, phase().Phase)
		second.Campaign()
		for phase().Phase != election.Waiting {
		}
		require.Equal(t, 1, seen[len(seen)-1].Ahead)
		require.NoError(t, term.Resign(t.Context()))
		for phase().Phase != election.Leading {
		}
		<-second.Leader()
		var phases []election.Phase
		for _, s := range seen {
			phases = append(phases, s.Phase)
		}
		phases = slices.Compact(phases)
		require.Equal(t, []election.Phase{election.Idle, election.Offering, election.Determining, election.Waiting}, phases[:4])
		if phases[4] == election.Determining { // anew, if it could not be sure that nobody else is ahead
			phases = slices.Delete(phases, 4, 5)
		}
		require.Equal(t, []election.Phase{election.Leading}, phases[4:])
	})
}
