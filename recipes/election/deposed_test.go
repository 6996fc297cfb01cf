package election_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// A candidate waits on a leader that is frozen while the term ends, and deposed; the new leader
// ends the candidate's session, and another candidate leads. The old leader wakes, and says from
// its old tree that the first one is next. It must not lead.
func TestADeposedServerThatWakesMakesNoSecondLeader(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		bubble.Run(t, func(t *bubble.World) {
			on := func(id string, server int) (*session.Session, *election.Election) {
				s, err := session.Open(t.Context(), t.Server.Hosts()[server:server+1], session.WithDialer(t.Server.Dialer()), session.WithTimeout(6*time.Second))
				require.NoError(t, err)
				t.Cleanup(func() { _ = s.Close(bubble.Minute(t)) })
				return s, candidate(t, s, id)
			}
			_, a := on("a", 1)
			s, b := on("b", 0)
			_, c := on("c", 2)
			leads(t, a)
			waits(t, b)
			waits(t, c)
			time.Sleep(time.Minute)
			heal := t.Server.PartitionOneWay(s.Status().SessionID, zktest.FromServer)
			require.NoError(t, a.Resign(bubble.Minute(t)))
			t.Server.Depose(0)
			heal()
			term := bubble.Get(t, c.Leader(), "c leads")
			time.Sleep(time.Duration(seed) * 300 * time.Millisecond)
			t.Server.Continue(0)
			for range 30 {
				time.Sleep(100 * time.Millisecond)
				synctest.Wait()
				bubble.Never(t, b.Leader(), "c leads")
			}
			require.True(t, term.Valid())
			require.NoError(t, c.Resign(bubble.Minute(t)))
			bubble.Get(t, b.Leader(), "b leads, in its next session")
			require.EqualValues(t, 2, s.Status().Epoch)
		}, zktest.WithServers(3), zktest.WithTick(2*time.Second), zktest.WithSessionTimeouts(time.Second, time.Minute), zktest.WithSeed(seed+1))
	}
}
