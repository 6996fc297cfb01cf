// Package examples_test runs every example as a reader would: built, started without arguments, and
// again with -zk on a real server.
package examples_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

var scratch string // where the programs are

func TestMain(m *testing.M) {
	var err error
	if scratch, err = os.MkdirTemp("", "troupe-examples-"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(scratch)
		os.Exit(code)
	}))
}

// programs compiles all examples, once.
var programs = sync.OnceValue(func() error {
	out, err := exec.Command("go", "build", "-o", scratch, "./...").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
})

// apart have tests of their own: workerpool takes longer, service runs until a signal.
var apart = []string{"service", "workerpool"}

// stories are patterns that the output of each other example must match.
var stories = map[string]string{
	"customrecipe":  `the repair came before the batch`,
	"fencedwriter":  `the ledger contains: \["sleepy was here" "brisk was here"\]`,
	"jobqueue":      `every job was done once`,
	"phases":        `the rod is equal, bit for bit, to the one computed without workers`,
	"rollingconfig": `every server runs with the last good configuration`,
	"routes":        `each answer came from the backend of its table, and the last table is what is in ZooKeeper`,
	"selectloop":    `seen: [12] grants, [12] terms, 3 jobs`,
	"transfer":      `all 60 transfers are in both ledgers or in none, and no money was lost`,
}

func TestEveryExampleHasAStoryAndALine(t *testing.T) {
	t.Parallel()
	mains := must(filepath.Glob("*/main.go"))
	readme := must(os.ReadFile("README.md"))
	for _, file := range mains {
		name := filepath.Dir(file)
		require.Regexp(t, "(?m)^\\| \\["+name+"\\]\\("+name+"\\) \\| .+ \\|$", string(readme), "examples/README.md has no line for %s", name)
		if !slices.Contains(apart, name) {
			require.Contains(t, stories, name)
		}
	}
	require.Len(t, mains, len(stories)+len(apart))
}

func TestExamples(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	require.NoError(t, programs())
	for name, story := range stories {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tell(t, filepath.Join(scratch, name), story)
		})
	}
}

func TestExamplesOnARealServer(t *testing.T) {
	tier.Real(t)
	require.NoError(t, programs())
	real := ensemble.Start(t, 1)
	for name, story := range stories {
		t.Run(name, func(t *testing.T) {
			tell(t, filepath.Join(scratch, name), story, "-zk", strings.Join(real.Servers(), ","))
		})
	}
	s := must(session.Open(t.Context(), real.Servers()))
	names, _, err := s.Children(t.Context(), "/")
	require.NoError(t, err)
	require.Equal(t, []string{"zookeeper"}, names, "something is left of a run")
	require.NoError(t, s.Close(t.Context()))
}

// The service ends with status 0 after SIGTERM.
func TestTheService(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	require.NoError(t, programs())
	cmd := exec.CommandContext(t.Context(), filepath.Join(scratch, "service"), "-http", "127.0.0.1:0")
	log := must(cmd.StderrPipe())
	require.NoError(t, cmd.Start())
	address := ""
	for lines := bufio.NewScanner(log); address == "" && lines.Scan(); {
		_, address, _ = strings.Cut(lines.Text(), "msg=listening address=")
	}
	answer, err := http.Get("http://" + address + "/ready")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, answer.StatusCode)
	require.NoError(t, answer.Body.Close())
	http.DefaultClient.CloseIdleConnections()
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, cmd.Wait())
}

// tell runs an example to its end.
func tell(t *testing.T, program, story string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // on a busy machine
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.WaitDelay = time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	require.NoError(t, cmd.Run(), "%s", &out)
	require.Regexp(t, story, out.String())
}

func TestEveryExampleCanBeCopied(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	mains := must(filepath.Glob("*/main.go"))
	for _, file := range mains {
		name := filepath.Dir(file)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := elsewhere(t)
			require.NoError(t, os.CopyFS(filepath.Join(dir, name), os.DirFS(name)))
			for _, what := range []string{"vet", "test"} {
				cmd := exec.CommandContext(t.Context(), "go", what, "./...")
				cmd.Dir = dir
				cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod -trimpath", "GOPROXY=off", "GOWORK=off") // what is here already has to do
				out, err := cmd.CombinedOutput()
				require.NoError(t, err, "go %s: %s", what, out)
			}
		})
	}
}

// elsewhere is a module of a user that requires this one, as it is here, and its dependencies.
func elsewhere(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	root := must(filepath.Abs(".."))
	text := must(os.ReadFile("../go.mod"))
	const ours = "github.com/troupe-go/troupe"
	mod := strings.Replace(string(text), "module "+ours+"\n", "module example.org/copied\n", 1)
	mod += fmt.Sprintf("\nrequire %s v0.0.0\n\nreplace %[1]s => %q\n", ours, root)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte(mod), 0o600))
	sums := must(os.ReadFile("../go.sum"))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o600))
	return dir
}

// must returns v. An error while a test is arranged is a panic.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
