package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
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
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/internal/zkserver"
	"github.com/troupe-go/troupe/internal/zkserver/treefile"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open opens a session without a client library, which the command does not contain.
func open(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	send(t, conn, (&jute.ConnectRequest{Timeout: 10000, Password: make([]byte, 16)}).Encode)
	var p jute.ConnectResponse
	require.NoError(t, p.Decode(receive(t, conn)))
	require.NotZero(t, p.SessionID)
	return conn
}

func send(t *testing.T, conn net.Conn, encode func(*jute.Writer)) {
	t.Helper()
	var w jute.Writer
	w.Begin()
	encode(&w)
	w.End()
	_, err := conn.Write(w.Bytes())
	require.NoError(t, err)
}

func receive(t *testing.T, conn net.Conn) *jute.Reader {
	t.Helper()
	var head [4]byte
	_, err := io.ReadFull(conn, head[:])
	require.NoError(t, err)
	frame := make([]byte, binary.BigEndian.Uint32(head[:]))
	_, err = io.ReadFull(conn, frame)
	require.NoError(t, err)
	return jute.NewReader(frame)
}

func ask(t *testing.T, conn net.Conn, q jute.Request) (p jute.Reply) {
	t.Helper()
	send(t, conn, q.Encode)
	r := receive(t, conn)
	require.NoError(t, p.DecodeHeader(r))
	require.NoError(t, p.DecodeBody(r, q.Op))
	return p
}

// The real process loads a file, serves it, stops on SIGTERM although a client is connected, and
// writes its state to a file.
func TestServerStopsCleanlyOnSIGTERM(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	dir := t.TempDir()
	before, after := filepath.Join(dir, "before.jsonl"), filepath.Join(dir, "after.jsonl")
	require.NoError(t, os.WriteFile(before, []byte(`{"path": "/app", "data": "hello"}`), 0o600))
	cmd := exec.Command(program(t), "server", "--listen", "127.0.0.1:0", "--load", before, "--dump", after, "-v",
		"--tick", "1s", "--min-session-timeout", "3s", "--max-session-timeout", "12s")
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	var log bytes.Buffer // read after Wait
	cmd.Stderr = &log
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(stdout)
	require.True(t, lines.Scan())
	address, found := strings.CutPrefix(lines.Text(), "listening on ")
	require.True(t, found, lines.Text())
	require.True(t, strings.HasPrefix(address, "127.0.0.1:"), "loopback")

	conn := open(t, address)
	require.Equal(t, "hello", string(ask(t, conn, jute.Request{Xid: 1, Op: jute.OpGetData, Path: "/app"}).Data))
	require.Equal(t, jute.OK, ask(t, conn, jute.Request{Xid: 2, Op: jute.OpCreate, Path: "/e", ACL: jute.OpenACL(), Flags: jute.FlagEphemeral}).Err)
	require.Equal(t, jute.OK, ask(t, conn, jute.Request{Xid: 3, Op: jute.OpCreate, Path: "/more", Data: []byte{0xff}, ACL: jute.OpenACL()}).Err)

	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.True(t, lines.Scan())
	require.Equal(t, "wrote "+after, lines.Text())
	require.True(t, lines.Scan())
	require.Equal(t, "stopped", lines.Text())
	require.NoError(t, cmd.Wait())
	require.Contains(t, log.String(), "session opened")
	f, err := os.Open(after)
	require.NoError(t, err)
	defer f.Close()
	dumped, err := treefile.Read(f)
	require.NoError(t, err)
	data := make(map[string]string)
	for _, z := range dumped.Znodes {
		data[z.Path] = string(z.Data)
	}
	require.Equal(t, map[string]string{"/": "", "/app": "hello", "/e": "", "/more": "\xff", "/zookeeper": "", "/zookeeper/config": "", "/zookeeper/quota": ""}, data)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 2, "no other file is left")
}

func TestServerReportsWhatIsWrong(t *testing.T) {
	t.Parallel()
	bad := filepath.Join(t.TempDir(), "bad.jsonl")
	require.NoError(t, os.WriteFile(bad, []byte(`{"path": "app"}`), 0o600))
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"a bad address":       {[]string{"--listen", "nowhere"}, "--listen: "},
		"an argument":         {[]string{"surplus"}, `"surplus"`},
		"an absurd tick":      {[]string{"--tick", "1ns"}, "tick 1ns"},
		"no tick":             {[]string{"--tick", "0s"}, "--tick: "},
		"no servers":          {[]string{"--servers", "0"}, "--servers: "},
		"no packets":          {[]string{"--max-packet", "-1"}, "--max-packet: "},
		"no checks":           {[]string{"--container-check", "0s"}, "--container-check: "},
		"too many servers":    {[]string{"--servers", "300"}, "300 servers"},
		"an unknown word":     {[]string{"--words", "srvr,what"}, "what"},
		"an unknown version":  {[]string{"--version", "1.0"}, "1.0"},
		"an unknown release":  {[]string{"--as", "2.0"}, "--as 2.0: "},
		"no number of a port": {[]string{"--listen", "127.0.0.1:http"}, "--listen: "},
		"timeouts reversed":   {[]string{"--listen", "127.0.0.1:0", "--min-session-timeout", "1m", "--max-session-timeout", "1s"}, "1m0s"},
		"an unreadable tree":  {[]string{"--listen", "127.0.0.1:0", "--load", bad + "/below"}, "--load: "},
		"a bad tree":          {[]string{"--listen", "127.0.0.1:0", "--load", bad}, `"app"`},
		"a dump nowhere":      {[]string{"--listen", "127.0.0.1:0", "--dump", bad + "/tree.jsonl"}, "--dump " + bad + "/tree.jsonl: "},
		"a dump to a folder":  {[]string{"--listen", "127.0.0.1:0", "--dump", filepath.Dir(bad)}, "is a directory"},
		"a timeout too long":  {[]string{"--listen", "127.0.0.1:0", "--max-session-timeout", "600h"}, "600h0m0s"},
		"fewer than no conns": {[]string{"--max-connections", "-1"}, "--max-connections: "},
		"an unknown option":   {[]string{"--port", "1"}, "--port"},
		"a taken-away socket": {[]string{"--listen", "203.0.113.1:1"}, "--listen: "},
	} {
		require.ErrorContains(t, executed(append([]string{"server"}, c.args...)...), c.says, name)
	}
	require.ErrorContains(t, executed("serve"), `"serve"`, "an unknown command")
}

// An error names the wrong flag, not another one that was given.
func TestServerBlamesTheFlagThatIsWrong(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "good.jsonl"), filepath.Join(dir, "bad.jsonl")
	require.NoError(t, os.WriteFile(good, []byte(`{"path": "/app"}`), 0o600))
	require.NoError(t, os.WriteFile(bad, []byte(`{"path": "app"}`), 0o600))
	try := func(args ...string) error {
		return executed(append([]string{"server", "--listen", "127.0.0.1:0"}, args...)...)
	}
	require.ErrorContains(t, try("--load", bad), "--load "+bad+": ")
	err := try("--load", good, "--version", "1.0")
	require.ErrorContains(t, err, "1.0")
	require.NotContains(t, err.Error(), "--load")
}

// A failed dump does not end the process: the error is printed, and the next dump can succeed.
func TestADumpThatFailsIsTold(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "dumps")
	require.NoError(t, os.Mkdir(dir, 0o700))
	server, err := zkserver.New(zkserver.Config{})
	require.NoError(t, err)
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	out, log := make(lines), make(lines)
	hangup, done := make(chan os.Signal), make(chan struct{})
	file := filepath.Join(dir, "tree.jsonl")
	go func() { // ends with ctx
		defer close(done)
		attend(ctx, server, out, log, hangup, file)
	}()
	require.NoError(t, os.Remove(dir))
	hangup <- syscall.SIGHUP
	require.Contains(t, <-log, "--dump: ")
	require.NoError(t, os.Mkdir(dir, 0o700))
	hangup <- syscall.SIGHUP
	require.Equal(t, "wrote "+file+"\n", <-out)
	cancel()
	<-done
}

// lines passes each line on to its receiver.
type lines chan string

func (l lines) Write(b []byte) (int, error) {
	l <- string(b)
	return len(b), nil
}

// executed runs a command line and returns its error.
func executed(args ...string) error {
	cmd := root()
	cmd.SetArgs(args)
	cmd.SetOut(io.Discard)
	cmd.SetErr(io.Discard)
	return cmd.ExecuteContext(context.Background())
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
