package main

// The command: how it begins, what it reports, and how it ends.

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/zkserver"
)

func TestServerReportsWhatIsWrong(t *testing.T) {
	t.Parallel()
	bad := filepath.Join(t.TempDir(), "bad.jsonl")
	require.NoError(t, os.WriteFile(bad, []byte(`{"path": "app"}`), 0o600))
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"a bad address":        {[]string{"--listen", "nowhere"}, "--listen: "},
		"an argument":          {[]string{"surplus"}, `"surplus"`},
		"an absurd tick":       {[]string{"--tick", "1ns"}, "tick 1ns"},
		"no tick":              {[]string{"--tick", "0s"}, "--tick: "},
		"no servers":           {[]string{"--servers", "0"}, "--servers: "},
		"no packets":           {[]string{"--max-packet", "-1"}, "--max-packet: "},
		"no checks":            {[]string{"--container-check", "0s"}, "--container-check: "},
		"too many servers":     {[]string{"--servers", "300"}, "300 servers"},
		"an unknown word":      {[]string{"--words", "srvr,what"}, "what"},
		"an unknown version":   {[]string{"--version", "1.0"}, "1.0"},
		"an unknown release":   {[]string{"--as", "2.0"}, "--as 2.0: "},
		"no number of a port":  {[]string{"--listen", "127.0.0.1:http"}, "--listen: "},
		"timeouts reversed":    {[]string{"--listen", "127.0.0.1:0", "--min-session-timeout", "1m", "--max-session-timeout", "1s"}, "1m0s"},
		"an unreadable tree":   {[]string{"--listen", "127.0.0.1:0", "--load", bad + "/below"}, "--load: "},
		"a bad tree":           {[]string{"--listen", "127.0.0.1:0", "--load", bad}, "--load " + bad + ": "},
		"a bad path in a tree": {[]string{"--listen", "127.0.0.1:0", "--load", bad}, `"app"`},
		"a dump nowhere":       {[]string{"--listen", "127.0.0.1:0", "--dump", bad + "/tree.jsonl"}, "--dump " + bad + "/tree.jsonl: "},
		"a dump to a folder":   {[]string{"--listen", "127.0.0.1:0", "--dump", filepath.Dir(bad)}, "is a directory"},
		"a timeout too long":   {[]string{"--listen", "127.0.0.1:0", "--max-session-timeout", "600h"}, "600h0m0s"},
		"fewer than no conns":  {[]string{"--max-connections", "-1"}, "--max-connections: "},
		"an unknown option":    {[]string{"--port", "1"}, "--port"},
		"a taken-away socket":  {[]string{"--listen", "203.0.113.1:1"}, "--listen: "},
	} {
		require.ErrorContains(t, executed(append([]string{"server"}, c.args...)...), c.says, name)
	}
	require.ErrorContains(t, executed("serve"), `"serve"`, "an unknown command")
	require.NoError(t, os.WriteFile(bad, []byte(`{"path": "/app"}`), 0o600)) // and now it is good
	err := executed("server", "--listen", "127.0.0.1:0", "--load", bad, "--version", "1.0")
	require.ErrorContains(t, err, "1.0")
	require.NotContains(t, err.Error(), "--load", "only the flag that is wrong is named")
}

// A failed dump does not end the process: the error is printed, and the next dump can succeed.
func TestADumpThatFailsIsTold(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "dumps")
	require.NoError(t, os.Mkdir(dir, 0o700))
	server := must(zkserver.New(zkserver.Config{}))
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
	cmd := root(&app{in: nil, out: &printer{Writer: io.Discard}, log: io.Discard})
	cmd.SetArgs(args)
	return cmd.ExecuteContext(context.Background())
}

// --as 3.8 has the documented settings, and single flags override it.
func TestAs38IsStrict(t *testing.T) {
	t.Parallel()
	f := func(args ...string) *serverFlags {
		cmd := server()
		var f serverFlags
		cmd.ResetFlags()
		f.bind(cmd.Flags())
		require.NoError(t, cmd.ParseFlags(args))
		require.NoError(t, f.settle(cmd.Flags().Changed))
		return &f
	}
	strict := f("--as", "3.8")
	cfg := strict.config()
	require.Equal(t, []any{true, 60, []string{"srvr"}, "3.8.4"}, []any{cfg.NoTTL, cfg.MaxConnections, cfg.Words, cfg.Version})
	cfg = f("--as", "3.8", "--words", "*", "--no-ttl=false", "--max-connections", "7", "--version", "3.8.0").config()
	require.Equal(t, []any{false, 7, []string(nil), "3.8.0"}, []any{cfg.NoTTL, cfg.MaxConnections, cfg.Words, cfg.Version})
	cfg = f("--as", "3.8", "--max-connections", "0").config()
	require.Zero(t, cfg.MaxConnections, "any number")

	var out bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	strict.listen = "127.0.0.1:0"
	require.NoError(t, serve(ctx, &out, io.Discard, *strict))
	require.Contains(t, out.String(), "listening on 127.0.0.1:")
}
