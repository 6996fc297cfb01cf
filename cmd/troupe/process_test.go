//go:build unix

package main

// The process: dumps, signals, and clients that go on when it is started again.

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/session"
)

// program builds the command.
func program(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "troupe")
	out, err := exec.Command("go", "build", "-o", name, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return name
}

// process is a running command.
type process struct {
	cmd     *exec.Cmd
	lines   *bufio.Scanner
	log     bytes.Buffer // read after the process has ended
	address string
	last    []string // the lines that it wrote at its end
}

// started starts a server and waits until it listens.
func started(t *testing.T, program string, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(program, append([]string{"server"}, args...)...)}
	stdout := must(p.cmd.StdoutPipe())
	p.cmd.Stderr = &p.log
	require.NoError(t, p.cmd.Start())
	t.Cleanup(func() { _ = p.cmd.Process.Kill(); _ = p.cmd.Wait() })
	p.lines = bufio.NewScanner(stdout)
	p.address = strings.TrimPrefix(p.line(t, "listening on "), "listening on ")
	return p
}

// line returns the next line of the output with the prefix. Earlier lines are dropped.
func (p *process) line(t *testing.T, prefix string) string {
	t.Helper()
	for p.lines.Scan() {
		if strings.HasPrefix(p.lines.Text(), prefix) {
			return p.lines.Text()
		}
	}
	_ = p.cmd.Wait()
	require.Failf(t, "the process ended", "without a line %q…; its log: %s", prefix, p.log.String())
	return ""
}

// end sends a signal and waits for the process.
func (p *process) end(t *testing.T, signal syscall.Signal) {
	t.Helper()
	require.NoError(t, p.cmd.Process.Signal(signal))
	p.last = nil
	for p.lines.Scan() { // until the pipe is closed
		p.last = append(p.last, p.lines.Text())
	}
	err := p.cmd.Wait()
	if signal != syscall.SIGKILL {
		require.NoError(t, err, p.log.String())
	}
}

// client opens a session with the server. It survives a restart of the server.
func client(t *testing.T, address string, opts ...session.Option) *session.Session {
	t.Helper()
	return bubble.Open(t, []string{address}, append(opts, session.WithTimeout(20*time.Second))...)
}

func secondEpoch(is session.Status) bool { return is.Epoch == 2 && is.State == session.Connected }

// A file that does not exist yet is an empty tree. The process writes its tree on SIGHUP and goes
// on; on SIGTERM it writes its tree and stops, and is started again with it. A client gets a new
// session, and finds its znodes, but for the ephemeral ones.
func TestAClientFindsItsZnodesWhenTheServerIsStartedAgainFromItsDump(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	server := program(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "tree.jsonl")
	first := started(t, server, "--listen", "127.0.0.1:0", "--load", file, "--dump", file, "-v",
		"--tick", "1s", "--min-session-timeout", "3s", "--max-session-timeout", "20s")
	require.True(t, strings.HasPrefix(first.address, "127.0.0.1:"), "loopback")
	ctx := bubble.Minute(t)
	c := client(t, first.address)
	must(c.Create(ctx, "/app", []byte("1")))
	require.NoError(t, first.cmd.Process.Signal(syscall.SIGHUP))
	first.line(t, "wrote "+file)
	require.Contains(t, string(must(os.ReadFile(file))), `"/app"`)
	must(c.Set(ctx, "/app", []byte("2"), 0))
	must(c.Create(ctx, "/app/e-", nil, session.Ephemeral(), session.Sequential()))
	_, before, err := c.Get(ctx, "/app")
	require.NoError(t, err)
	first.end(t, syscall.SIGTERM) // although clients are connected
	require.Equal(t, []string{"wrote " + file, "stopped"}, first.last)
	require.Contains(t, first.log.String(), "session opened")
	require.Len(t, must(os.ReadDir(dir)), 1, "no other file is left")
	second := started(t, server, "--listen", first.address, "--load", file, "--dump", file)
	bubble.Await(t, c.ObserveStatus(ctx), "the next session", secondEpoch)
	data, after, err := c.Get(ctx, "/app")
	require.NoError(t, err)
	require.Equal(t, "2", string(data))
	require.Greater(t, after.Mzxid, before.Mzxid, "no client has seen a later one")
	_, exists, err := c.Exists(ctx, "/app/e-0000000000")
	require.NoError(t, err)
	require.False(t, exists)
	require.Equal(t, "/app/e-0000000001", must(c.Create(ctx, "/app/e-", nil, session.Ephemeral(), session.Sequential())))
	require.NoError(t, c.Close(ctx))
	second.end(t, syscall.SIGTERM)
}

// Without a dump, everything is lost. The client learns that its session has expired, and begins
// the next one. The server does not hang up on it forever.
func TestAClientGoesOnWithANewSessionWhenTheServerIsStartedAgainWithoutADump(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	server := program(t)
	first := started(t, server, "--listen", "127.0.0.1:0")
	ctx, c := bubble.Minute(t), client(t, first.address)
	for _, path := range []string{"/a", "/b", "/c"} {
		must(c.Create(ctx, path, nil))
	}
	id := c.Status().SessionID
	first.end(t, syscall.SIGKILL)
	started(t, server, "--listen", first.address)
	bubble.Await(t, c.ObserveStatus(ctx), "the next session", secondEpoch)
	must(c.Create(ctx, "/a", nil))
	require.NotEqual(t, id, c.Status().SessionID)
	require.NoError(t, c.Close(ctx)) // while there is a server
}

// A tree without an end is loaded until SIGTERM.
func TestSIGTERMEndsALoad(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	server := program(t)
	pipe := filepath.Join(t.TempDir(), "tree")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	cmd := exec.Command(server, "server", "--listen", "127.0.0.1:0", "--load", pipe)
	out := must(cmd.StdoutPipe())
	require.NoError(t, cmd.Start())
	in := must(os.OpenFile(pipe, os.O_WRONLY, 0))
	const enough = 50_000 // lines: the load has begun when so many were written
	for i := 0; ; i++ {
		if i == enough {
			require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		}
		if _, err := fmt.Fprintf(in, "{\"path\":\"/n%d\"}\n", i); err != nil {
			break // it reads no more
		}
	}
	in.Close()
	said := must(io.ReadAll(out))
	require.NoError(t, cmd.Wait())
	require.Empty(t, string(said), "it never listened")
}

// The process listens on loopback, answers GET alone, and ends with a signal.
func TestTheExporterIsAProcess(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	troupe := program(t)
	server := started(t, troupe, "--listen", "127.0.0.1:0")
	c := client(t, server.address)
	locked(t, c, "/l")
	out := must(os.Create(t.TempDir() + "/out"))
	cmd := exec.Command(troupe, "exporter", "--servers", server.address, "--contenders", "/l", "--contenders", "/l", "--listen", "localhost:0")
	cmd.Stdout = out
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	var at string
	require.Eventually(t, func() bool {
		_, at, _ = strings.Cut(strings.TrimSpace(string(must(os.ReadFile(out.Name())))), "listening on ")
		return at != ""
	}, time.Minute, 10*time.Millisecond)
	require.Regexp(t, `^http://(127\.0\.0\.1|\[::1\]):\d+/metrics$`, at)
	answer := must(http.Get(at)) //nolint:noctx // it answers at once
	require.Equal(t, 1, strings.Count(string(must(io.ReadAll(answer.Body))), `troupe_contenders{path="/l"} 1`), "once, although it was given twice")
	require.NoError(t, answer.Body.Close())
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, cmd.Wait())
}
