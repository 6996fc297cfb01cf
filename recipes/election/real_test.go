package election_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// realTimeout leaves a margin, a good quarter of it, that bears servers on a machine so busy that
// they pass on late what they hear.
const realTimeout = 6 * time.Second

func onServers(t testing.TB, servers ...string) *session.Session {
	t.Helper()
	s, err := session.Open(bubble.Minute(t), servers, session.WithTimeout(realTimeout), session.WithTick(200*time.Millisecond))
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close(bubble.Minute(t)) })
	return s
}

// B32 on a real server: it is down for longer than the sessions last, and brings the old znodes
// with it when it comes back.
func TestB32_OnRealZooKeeper(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	zk := ensemble.Start(t, 1)
	a, b := candidate(t, onServers(t, zk.Servers()...), "a"), candidate(t, onServers(t, zk.Servers()...), "b")
	first := leads(t, a)
	waits(t, b)
	seen := b.Observe(t.Context())
	zk.Kill(0)
	bubble.Closes(t, first.Done(), "a's term")
	bubble.Await(t, seen, "nobody knows", func(l election.Leadership) bool { return l.Stale })
	<-time.After(realTimeout + time.Second)
	require.NoError(t, zk.Restart(0))
	second := bubble.Get(t, merge(t, a.Leader(), b.Leader()), "somebody leads")
	require.Greater(t, second.Token(), first.Token())
	require.True(t, second.Valid())
	bubble.Await(t, seen, "everybody knows", func(l election.Leadership) bool { return l.Token == second.Token() && !l.Stale })
	eventually(t, "both stand, and no znode is left over", func() bool { return len(line(t, a)) == 2 })
}
