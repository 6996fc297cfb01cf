package ensemble_test

// Faults of real servers: killed, restarted, stopped, isolated; and what they count.

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

func TestKilledLeaderIsReplaced(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	servers := ensemble.Start(t, 3)
	first := leader(t, servers)
	conn, _ := connect(t, time.Minute, servers.Servers()...)
	id := conn.SessionID()

	servers.Kill(first)
	require.NotEqual(t, first, leader(t, servers))
	eventually(t, "the session goes on", func() bool { _, _, err := conn.Exists("/"); return err == nil })
	require.Equal(t, id, conn.SessionID())

	require.NoError(t, servers.Restart(first))
	eventually(t, "the old leader serves", func() bool { _, err := servers.Stats(first); return err == nil })
}

func TestStoppedServerIsSilentUntilContinued(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	servers := ensemble.Start(t, 1)
	conn, _ := connect(t, 30*time.Second, servers.Servers()...)

	servers.Stop(0)
	require.Equal(t, -1, servers.Leader())
	answered := make(chan error, 1)
	go func() { _, _, err := conn.Exists("/"); answered <- err }() // owner: the test; ends with the answer
	select {
	case err := <-answered:
		require.FailNow(t, "a stopped server answered", "%v", err)
	case <-time.After(300 * time.Millisecond):
	}
	servers.Continue(0)
	require.NoError(t, <-answered)
	require.Equal(t, 0, leader(t, servers))
}

// The server that lost its leader goes on answering what it can answer alone, while the others
// expire its sessions.
func TestIsolatedFollowerAnswersReadsWhileItsSessionsExpire(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	servers := ensemble.Start(t, 3)
	cut := follower(t, servers)
	holder, events := connect(t, 2*time.Second, servers.Servers()[cut])
	writer, _ := connect(t, 30*time.Second, servers.Servers()[cut]) // of its own: the answers to pings wait behind a write
	rival, _ := connect(t, 10*time.Second, servers.Servers()[leader(t, servers)])
	_, err := holder.Create("/held", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	require.NoError(t, err)

	began := time.Now()
	heal := servers.Isolate(cut)
	written := make(chan error, 1)
	go func() { // owner: the test; ends when the isolated server gives its clients up
		_, err := writer.Set("/held", nil, -1)
		written <- err
	}()
	eventually(t, "the rest sees the session expire", func() bool { ok, _, err := rival.Exists("/held"); return err == nil && !ok })
	t.Logf("a session of 2s expired %v after its server was isolated", time.Since(began))
	ok, _, err := holder.Exists("/held")
	require.NoError(t, err)
	require.True(t, ok, "the isolated server still shows the node")
	require.Empty(t, events, "the holder has noticed nothing")
	require.Empty(t, written, "the write hangs")

	require.Error(t, <-written)
	t.Logf("the isolated server gave its clients up after %v", time.Since(began))
	heal()
	heal() // twice is once
	await(t, events, zk.StateExpired)
}

func TestIsolatedLeaderIsReplacedAndComesBackAsFollower(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	servers := ensemble.Start(t, 3, ensemble.WithSyncLimit(5))
	old := leader(t, servers)

	heal := servers.Isolate(old)
	elected := leader(t, servers)
	require.NotEqual(t, old, elected)
	conn, _ := connect(t, 10*time.Second, servers.Servers()[elected])
	_, err := conn.Create("/without-the-old-leader", nil, 0, zk.WorldACL(zk.PermAll))
	require.NoError(t, err)

	heal()
	require.NoError(t, servers.Await(t.Context()))
	late, _ := connect(t, 10*time.Second, servers.Servers()[old])
	_, err = late.Sync("/")
	require.NoError(t, err)
	ok, _, err := late.Exists("/without-the-old-leader")
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, elected, leader(t, servers), "the healed one must not lead")
}

func TestStatsCountRequestsAndWatchEventsExactly(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	servers := ensemble.Start(t, 1)
	conn, _ := connect(t, time.Minute, servers.Servers()...) // pings every 20 s: none within the measurement
	_, err := conn.Create("/n", nil, 0, zk.WorldACL(zk.PermAll))
	require.NoError(t, err)
	measure := func(do func()) ensemble.Stats {
		before, err := servers.Stats(0)
		require.NoError(t, err)
		do()
		after, err := servers.Stats(0)
		require.NoError(t, err)
		return ensemble.Stats{
			Requests: after.Requests - before.Requests, Writes: after.Writes - before.Writes, Reads: after.Reads - before.Reads,
			WatchEvents: after.WatchEvents - before.WatchEvents, Watches: after.Watches - before.Watches,
		}
	}
	for name, tc := range map[string]struct {
		do   func()
		want ensemble.Stats
	}{
		"nothing": {func() {}, ensemble.Stats{}},
		"write":   {func() { _, err = conn.Set("/n", nil, -1) }, ensemble.Stats{Requests: 1, Writes: 1}},
		"refused": {func() { _, _ = conn.Create("/n", nil, 0, zk.WorldACL(zk.PermAll)) }, ensemble.Stats{Requests: 1, Writes: 1}},
		"read":    {func() { _, _, err = conn.Get("/n") }, ensemble.Stats{Requests: 1, Reads: 1}},
		"sync":    {func() { _, err = conn.Sync("/n") }, ensemble.Stats{Requests: 1, Reads: 1}},
		"multi": {func() {
			_, err = conn.Multi(&zk.SetDataRequest{Path: "/n", Version: -1}, &zk.SetDataRequest{Path: "/n", Version: -1})
		}, ensemble.Stats{Requests: 1, Writes: 1}},
		"watch": {func() {
			_, _, fired, getErr := conn.GetW("/n")
			require.NoError(t, getErr)
			_, err = conn.Set("/n", nil, -1)
			<-fired
		}, ensemble.Stats{Requests: 2, Writes: 1, Reads: 1, WatchEvents: 1}},
	} {
		require.Equal(t, tc.want, measure(tc.do), name)
		require.NoError(t, err, name)
	}
}

func TestBadInputIsRefused(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func() (*ensemble.Ensemble, error){
		"no servers":       func() (*ensemble.Ensemble, error) { return ensemble.New(0) },
		"too many servers": func() (*ensemble.Ensemble, error) { return ensemble.New(10) },
		"nil option":       func() (*ensemble.Ensemble, error) { return ensemble.New(1, nil) },
		"no tick":          func() (*ensemble.Ensemble, error) { return ensemble.New(1, ensemble.WithTick(0)) },
		"broken tick":      func() (*ensemble.Ensemble, error) { return ensemble.New(1, ensemble.WithTick(time.Microsecond)) },
		"no sync limit":    func() (*ensemble.Ensemble, error) { return ensemble.New(1, ensemble.WithSyncLimit(0)) },
		"no key":           func() (*ensemble.Ensemble, error) { return ensemble.New(1, ensemble.WithConfig("", "x")) },
	} {
		servers, err := start()
		require.Error(t, err, name)
		require.Nil(t, servers, name)
	}
}

func TestServerThatDoesNotStartIsExplainedByItsLog(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	_, err := ensemble.New(1, ensemble.WithConfig("tickTime", "soon"))
	require.ErrorContains(t, err, "its process ended")
	require.ErrorContains(t, err, "NumberFormatException")
}

// Systems whose loopback has one address get by with ports; only elections can't be cut off there.
func TestIsolatesFollowersWithPortsAlone(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	servers := ensemble.Start(t, 3, ensemble.WithPorts(), ensemble.WithSyncLimit(5))
	cut := follower(t, servers)
	heal := servers.Isolate(cut)
	eventually(t, "it gives its clients up", func() bool { _, err := servers.Stats(cut); return err != nil })
	heal()
	require.NoError(t, servers.Await(t.Context()))
}
