package fence_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/recipes/fence"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// The checker's server is the leader, which answers a sync by itself, and may carry out a
// transaction later than the follower through which it was asked for. With a sync in Check it shows
// in some of a thousand rounds, more on a busy machine.
func TestCheckAtTheLeaderIsNotStale(t *testing.T) {
	tier.Soak(t)
	t.Parallel()
	zk := ensemble.Start(t, 3)
	leader := zk.Leader()
	require.NotEqual(t, -1, leader)
	follower := (leader + 1) % 3
	holder, checker := connected(t, zk.Servers()[follower:follower+1]), connected(t, zk.Servers()[leader:leader+1])
	denied, confirmed := 0, 0
	const rounds = 1000
	for range rounds {
		q := take(t, holder)
		if fence.Check(bubble.Minute(t), checker, q) != nil {
			denied++
		}
		path, _ := holder.Relative(q.Path)
		require.NoError(t, holder.Delete(bubble.Minute(t), path, -1))
		if fence.Check(bubble.Minute(t), checker, q) == nil {
			confirmed++
		}
	}
	require.Zero(t, denied, "of %d possessions were denied though they are held", rounds)
	require.Zero(t, confirmed, "of %d possessions were confirmed though their end had been answered", rounds)
}
