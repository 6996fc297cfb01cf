package docs_test

// What the page on ZooKeeper's Java recipes says of the states of an election.

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// The states of java-recipes.md, in the order in which they come: the server is slow, so that none
// is replaced before it is received.
func TestEveryStateOfAnElectionIsAPhase(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := zktest.Start(t)
		open := func() *session.Session {
			s, err := session.Open(t.Context(), srv.Hosts(), session.WithDialer(srv.Dialer()))
			require.NoError(t, err)
			t.Cleanup(func() { _ = s.Close(context.Background()) })
			return s
		}
		candidate := func(host string) *election.Election {
			e, err := election.New(open(), "/election", election.WithID(host))
			require.NoError(t, err)
			return e
		}
		first, second := candidate("first"), candidate("second")
		first.Campaign()
		term := <-first.Leader()
		defer srv.Intercept(func(r *zktest.Request) zktest.Verdict {
			if r.Op == zktest.OpConnect || r.Op == zktest.OpPing {
				return zktest.Pass
			}
			return zktest.Delay(100 * time.Millisecond)
		})()
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
		require.Equal(t, "second", func() string { <-second.Leader(); return second.ID() }())
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
