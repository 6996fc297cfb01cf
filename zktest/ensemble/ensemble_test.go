package ensemble_test

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

const patience = 30 * time.Second

// connect opens a session of go-zookeeper with the given servers and waits until it has one.
func connect(t *testing.T, timeout time.Duration, servers ...string) (*zk.Conn, <-chan zk.Event) {
	t.Helper()
	conn, events, err := zk.Connect(servers, timeout, zk.WithLogger(silence{}))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	require.Equal(t, zk.StateHasSession, await(t, events, zk.StateHasSession))
	return conn, events
}

type silence struct{}

func (silence) Printf(string, ...any) {}

func await(t *testing.T, events <-chan zk.Event, want zk.State) zk.State {
	t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case event := <-events:
			if event.State == want {
				return want
			}
		case <-deadline:
			require.FailNow(t, "no event", "want %v", want)
		}
	}
}

func TestStartsOneServer(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	began := time.Now()
	servers := ensemble.Start(t, 1)
	t.Logf("one server after %v", time.Since(began))
	require.Equal(t, 0, leader(t, servers))

	conn, _ := connect(t, 10*time.Second, servers.Servers()...)
	_, err := conn.Create("/a", []byte("x"), 0, zk.WorldACL(zk.PermAll))
	require.NoError(t, err)
	data, _, err := conn.Get("/a")
	require.NoError(t, err)
	require.Equal(t, "x", string(data))
}

func TestStartsThreeServers(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	began := time.Now()
	servers := ensemble.Start(t, 3)
	t.Logf("three servers after %v", time.Since(began))
	require.Contains(t, []int{0, 1, 2}, leader(t, servers))

	for _, addr := range servers.Servers() {
		conn, _ := connect(t, 10*time.Second, addr)
		_, err := conn.Create("/a-", nil, zk.FlagSequence, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
	}
}
