// Package examples_test runs every example as a reader would: built, started without arguments, and
// again with -zk on a real server.
package examples_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/troupe-go/troupe/internal/tier"
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

// stories are patterns that each example's output must match. Workerpool, which takes longer, has
// tests of its own.
var stories = map[string]string{
	"customrecipe":  `the repair came before the batch, and the reports released the lock for it`,
	"fencedwriter":  `the ledger contains: \["sleepy was here" "brisk was here"\]`,
	"leaderservice": `counted to \d+ under \d terms`,
	"jobqueue":      `every job was done once`,
	"phases":        `the rod is equal, bit for bit, to the one computed without workers`,
	"rollingconfig": `every server runs with the last good configuration`,
	"selectloop":    `seen: [12] grants, [12] terms, 3 jobs`,
	"transfer":      `all 60 transfers are in both ledgers or in none, and no money was lost`,
}

func TestEveryExampleHasAStoryAndALine(t *testing.T) {
	t.Parallel()
	mains, err := filepath.Glob("*/main.go")
	require.NoError(t, err)
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	for _, file := range mains {
		name := filepath.Dir(file)
		require.Regexp(t, "(?m)^\\| \\["+name+"\\]\\("+name+"\\) \\| .+ \\|$", string(readme), "examples/README.md has no line for %s", name)
		if name != "workerpool" {
			require.Contains(t, stories, name)
		}
	}
	require.Len(t, mains, len(stories)+1)
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
	s, err := session.Open(t.Context(), real.Servers())
	require.NoError(t, err)
	names, _, err := s.Children(t.Context(), "/")
	require.NoError(t, err)
	require.Equal(t, []string{"zookeeper"}, names, "something is left of a run")
	require.NoError(t, s.Close(t.Context()))
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
