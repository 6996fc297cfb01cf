package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type quiet struct{}

func (quiet) Printf(string, ...any) {}

func TestServerStopsCleanlyOnSIGTERM(t *testing.T) {
	t.Parallel()
	binary := filepath.Join(t.TempDir(), "troupe")
	out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	cmd := exec.Command(binary, "server", "--listen", "127.0.0.1:0", "-v")
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = io.Discard
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(stdout)
	require.True(t, lines.Scan())
	address, found := strings.CutPrefix(lines.Text(), "listening on ")
	require.True(t, found, lines.Text())
	require.True(t, strings.HasPrefix(address, "127.0.0.1:"), "loopback")

	conn, _, err := zk.Connect([]string{address}, 10*time.Second, zk.WithLogger(quiet{}))
	require.NoError(t, err)
	_, err = conn.Create("/a", []byte("x"), 0, zk.WorldACL(zk.PermAll))
	require.NoError(t, err)
	conn.Close()

	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.True(t, lines.Scan())
	require.Equal(t, "stopped", lines.Text())
	require.NoError(t, cmd.Wait())
}

func TestServerReportsWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"a bad address":       {"server", "--listen", "nowhere"},
		"an argument":         {"server", "surplus"},
		"an absurd tick":      {"server", "--tick", "1ns"},
		"timeouts reversed":   {"server", "--listen", "127.0.0.1:0", "--min-session-timeout", "1m", "--max-session-timeout", "1s"},
		"an unknown command":  {"serve"},
		"an unknown option":   {"server", "--port", "1"},
		"a taken-away socket": {"server", "--listen", "203.0.113.1:1"},
	} {
		cmd := root()
		cmd.SetArgs(args)
		cmd.SetOut(io.Discard)
		cmd.SetErr(io.Discard)
		require.Error(t, cmd.ExecuteContext(context.Background()), name)
	}
}

func TestServerEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	r, w, err := os.Pipe()
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- serve(ctx, w, io.Discard, serverFlags{listen: "127.0.0.1:0"}) }() // ends with ctx
	line, err := bufio.NewReader(r).ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, "listening on 127.0.0.1:")
	cancel()
	require.NoError(t, <-done)
	w.Close()
	r.Close()
}
