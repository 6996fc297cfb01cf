package interop_test

import (
	"os/exec"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/interop"
)

// The shells that come with ZooKeeper and with its C client say the same on both servers.
func TestShellsSayTheSameOnBothServers(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	t.Run("zkCli", func(t *testing.T) {
		t.Parallel()
		program, err := interop.FindShell()
		require.NoError(t, err)
		onEmpty(t, func(t *testing.T, address string) {
			playScript(t, newShells(dialect{
				start: func(address, timeout string) *exec.Cmd {
					command := exec.Command(program, "-server", address, "-timeout", timeout)
					command.Env = append(command.Environ(), "CLIENT_JVMFLAGS=-Xmx128m -XX:+UseSerialGC -XX:TieredStopAtLevel=1")
					return command
				},
				marker: "get /marker-%d", answer: "Node does not exist: /marker-%d",
				drop: regexp.MustCompile(`^(SLF4J:|Connecting to|Welcome|JLine|WATCHER::|session Id =|[cm]time =|[cmp]Zxid =|ephemeralOwner = 0x[1-9])`),
				events: map[string]*regexp.Regexp{
					"state": regexp.MustCompile(`^WatchedEvent state:(\w+) type:None`),
					"watch": regexp.MustCompile(`^WatchedEvent state:SyncConnected type:(\w+) path:(/.*)$`),
				},
				quit: "quit",
			}), "", "zkcli", address)
		})
	})
	t.Run("cli_mt", func(t *testing.T) {
		t.Parallel()
		program, err := interop.FindTool()
		require.NoError(t, err)
		onEmpty(t, func(t *testing.T, address string) {
			playScript(t, newShells(dialect{
				start:  func(address, _ string) *exec.Cmd { return exec.Command(program, address) }, // it has a timeout of its own
				marker: "adelete /marker-%d", answer: "/marker-%d: rc = -101",
				drop: regexp.MustCompile(`^(time =|Got a new|Reconnected|[cm]time ?=|[cm]zxid=|ephemeralOwner =|\d{4}-)`),
				events: map[string]*regexp.Regexp{
					"state": regexp.MustCompile(`^Watcher SESSION_EVENT state = (\w+)`),
					"watch": regexp.MustCompile(`^Watcher (\w+) state = \w+ for path (/.*)$`),
				},
				quit: "quit", lists: "ls",
			}), "", "cli_mt", address)
		})
	})
}
