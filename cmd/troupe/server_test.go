package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/troupe-go/troupe/internal/jute"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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

	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	defer conn.Close() // the server stops although a client is there
	var w jute.Writer
	w.Begin()
	(&jute.ConnectRequest{Timeout: 10000, Password: make([]byte, 16)}).Encode(&w)
	w.End()
	_, err = conn.Write(w.Bytes())
	require.NoError(t, err)
	welcome := make([]byte, 41)
	_, err = io.ReadFull(conn, welcome)
	require.NoError(t, err)
	var p jute.ConnectResponse
	require.NoError(t, p.Decode(jute.NewReader(welcome[4:])))
	require.NotZero(t, p.SessionID)

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
