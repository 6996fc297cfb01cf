// The tests of package ensemble_test tell what its servers and proxies do. This file has what the
// others share.
package ensemble_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/troupe-go/troupe/zktest/ensemble"
)

// abandonedEnv makes the test binary a process that starts a server and is killed, see
// TestNothingIsLeftOfAKilledProcess.
const abandonedEnv = "TROUPE_TEST_ABANDON_ENSEMBLE"

func TestMain(m *testing.M) {
	if os.Getenv(abandonedEnv) != "" {
		servers, err := ensemble.New(1)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(servers.Pid(0), servers.Root())
		select {}
	}
	goleak.VerifyTestMain(m)
}

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

// leader waits for a server that leads.
func leader(t *testing.T, e *ensemble.Ensemble) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	n, err := e.AwaitLeader(ctx)
	require.NoError(t, err)
	return n
}

// follower is a server that does not lead.
func follower(t *testing.T, e *ensemble.Ensemble) int {
	t.Helper()
	return (leader(t, e) + 1) % len(e.Servers())
}

// eventually waits for a condition of the outside world.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	require.Eventually(t, condition, patience, 20*time.Millisecond, what)
}
