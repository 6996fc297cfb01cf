package main

// The harness of the commands' tests: the program runs in this process, on the test's server and in
// virtual time. Functions that fill the server are beside the commands that show it: queued in
// lock_test.go, campaigning in election_test.go, jobs in queue_test.go, garden in znode_test.go,
// village and waiting in kinds_test.go. Processes are started in run_test.go and process_test.go.

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
)

var update = flag.Bool("update", false, "write the golden outputs")

// guid is the random part of a contender's name.
var guid = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`)

// asProgram makes a process of the tests the program itself.
const asProgram = "TROUPE_TEST_IS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(run())
	}
	time.Local = time.FixedZone("elsewhere", 3600) //nolint:gosmopolitan // times are printed in it
	tier.Main(m)
}

// typed is the standard input of a run. If it is not empty it is typed on a terminal.
type typed string

// run runs the program until it ends, and returns what it wrote, standard error included, and its
// exit status.
func (in typed) run(ctx context.Context, t *bubble.World, args ...string) (string, int) {
	t.Helper()
	var out text
	code := in.write(ctx, t, t.Server.Dialer(), &out, &out, args...)
	return out.String(), code
}

// text is what was written, by the program and by its log.
type text struct {
	mu  sync.Mutex
	all strings.Builder
}

func (t *text) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all.Write(b)
}

func (t *text) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all.String()
}

// write is a run that asks four-letter words by dial.
func (in typed) write(ctx context.Context, t *bubble.World, dial func(context.Context, string, string) (net.Conn, error), out, log io.Writer, args ...string) int {
	return reads{strings.NewReader(string(in)), func() {}}.write(ctx, t, in != "", dial, out, log, args...)
}

// reads is a run of the program that calls a function whenever it reads.
type reads struct {
	io.Reader
	then func()
}

func (r reads) Read(b []byte) (int, error) {
	r.then()
	return r.Reader.Read(b)
}

func (r reads) write(ctx context.Context, t *bubble.World, terminal bool, dial func(context.Context, string, string) (net.Conn, error), out, log io.Writer, args ...string) int {
	a := &app{in: r, out: &printer{Writer: out}, log: log, terminal: terminal, release: func() {}}
	a.to.options = []session.Option{session.WithDialer(t.Server.Dialer())}
	cmd := root(a)
	a.to.dial = dial
	cmd.SetArgs(append(args, "--servers", strings.Join(t.Server.Hosts(), ",")))
	return a.execute(ctx, cmd)
}

// troupe is a run without a terminal.
func troupe(t *bubble.World, args ...string) (string, int) {
	t.Helper()
	return typed("").run(bubble.Minute(t), t, args...)
}

// exits is a run that ends with a status. It returns what it wrote.
func exits(t *bubble.World, status int, args ...string) string {
	t.Helper()
	out, code := troupe(t, args...)
	require.Equal(t, status, code, "%v: %s", args, out)
	return out
}

// golden runs the program several times, and compares what it writes with testdata/<name>.txt.
func golden(t *bubble.World, name string, runs ...[]string) {
	t.Helper()
	var all strings.Builder
	for _, args := range runs {
		out, code := troupe(t, args...)
		all.WriteString(transcript(out, code, args...))
	}
	same(t, name, all.String())
}

// each are the command lines of a golden output.
func each(lines string) (all [][]string) {
	for line := range strings.SplitSeq(lines, "\n") {
		all = append(all, strings.Fields(line))
	}
	return all
}

// transcript is a run as docs/cli.md shows it.
func transcript(out string, code int, args ...string) string {
	text := "$ troupe " + strings.Join(args, " ") + "\n" + out
	if !strings.HasSuffix(text, "\n") {
		text += "\n(no newline at the end)\n"
	}
	if code != 0 {
		text += fmt.Sprintf("(status %d)\n", code)
	}
	return text
}

// same compares a text with testdata/<name>.txt.
func same(t *bubble.World, name, seen string) {
	t.Helper()
	seen = guid.ReplaceAllString(seen, "00000000-0000-4000-8000-000000000000")
	file := filepath.Join("testdata", name+".txt")
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(seen), 0o644))
	}
	want := must(os.ReadFile(file))
	require.Equal(t, string(want), seen)
}

// must returns v. An error while a test is arranged is a panic.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// locked is a lock's grant. The lock is a new instance.
func locked(t testing.TB, s *session.Session, path string, opts ...lock.Option) *lock.Grant {
	t.Helper()
	return must(must(lock.New(s, path, opts...)).Lock(bubble.Minute(t)))
}
