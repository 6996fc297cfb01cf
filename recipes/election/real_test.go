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

// B05, B06, B40 and B44 on real servers: a leader whose packets vanish, or whose server has lost
// its leader, or was paused, has ended its term before the rival's begins, and stands again by
// itself when it can.
func TestLossOnRealZooKeeper(t *testing.T) {
	tier.Soak(t)
	t.Parallel()
	for _, test := range []struct {
		name  string
		fault func(zk *ensemble.Ensemble, proxy *ensemble.Proxy, i int) (end func())
	}{
		{"packets vanish", func(_ *ensemble.Ensemble, proxy *ensemble.Proxy, _ int) func() { proxy.Blackhole(); return proxy.Heal }},
		{"the server has lost its leader", func(zk *ensemble.Ensemble, _ *ensemble.Proxy, i int) func() { return zk.Isolate(i) }},
		{"the server is paused", func(zk *ensemble.Ensemble, _ *ensemble.Proxy, i int) func() {
			zk.Stop(i)
			return func() { zk.Continue(i) }
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			zk := ensemble.Start(t, 3)
			follower := (zk.Leader() + 1) % 3
			proxy, err := ensemble.NewProxy(zk.Servers()[follower])
			require.NoError(t, err)
			t.Cleanup(proxy.Close)
			cut := onServers(t, proxy.Addr())
			a, b := candidate(t, cut, "a"), candidate(t, onServers(t, zk.Servers()[zk.Leader()]), "b")

			first := leads(t, a)
			waits(t, b)
			end := test.fault(zk, proxy, follower)
			second := bubble.Get(t, b.Leader(), "b leads")
			require.ErrorIs(t, first.Err(), session.ErrLost, "a's term ended before b's began")
			require.ErrorIs(t, first.Err(), session.ErrUntrusted)
			require.Greater(t, second.Token(), first.Token())
			end()
			eventually(t, "a stands again", func() bool { return len(line(t, b)) == 2 })
			require.NoError(t, b.Resign(bubble.Minute(t)))
			require.Greater(t, bubble.Get(t, a.Leader(), "a leads again").Token(), second.Token())
		})
	}
}

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
