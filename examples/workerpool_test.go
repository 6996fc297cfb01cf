//go:build unix

package examples_test

// The pool of workers as a user starts it.

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// program builds the binary under a path that is this test's alone, and a directory for it to hash.
func program(t *testing.T) (binary, dir string) {
	t.Helper()
	binary, dir = filepath.Join(t.TempDir(), "workerpool"), t.TempDir()
	out, err := exec.Command("go", "build", "-o", binary, "./workerpool").CombinedOutput()
	require.NoError(t, err, "%s", out)
	for i := range 2400 {
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprint("file ", i)), bytes.Repeat([]byte{byte(i)}, i), 0o600))
	}
	return binary, dir
}

// processes counts the processes that run the binary, and those with all threads stopped. Without
// /proc it finds none.
func processes(binary string) (all, stopped int) {
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, p := range paths {
		if line, err := os.ReadFile(p); err != nil || !bytes.HasPrefix(line, []byte(binary+"\x00")) {
			continue
		}
		all++
		threads, _ := filepath.Glob(filepath.Join(filepath.Dir(p), "task/*/stat"))
		if !slices.ContainsFunc(threads, func(p string) bool {
			stat, _ := os.ReadFile(p)
			return !bytes.Contains(stat, []byte(") T "))
		}) {
			stopped++
		}
	}
	return all, stopped
}

func TestEndToEnd(t *testing.T) {
	tier.Soak(t)
	t.Parallel()
	for name, embedded := range map[string]bool{"embedded server": true, "real ensemble": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			binary, dir := program(t)
			args, faults := []string{"-dir", dir}, []string{"kill", "pause", "partition"}
			if !embedded {
				args, faults = append(args, "-zk", strings.Join(ensemble.Start(t, 3).Servers(), ",")), faults[:2]
			}
			out, err := exec.CommandContext(t.Context(), binary, args...).CombinedOutput()
			require.NoError(t, err, "%s", out)
			require.Contains(t, string(out), "every file once, same digests, no result by a stale holder")
			for _, fault := range faults {
				for _, victim := range []string{"a worker", "the coordinator"} {
					require.Contains(t, string(out), fault+" "+victim+": ", "each kind of fault has happened while there was work")
				}
			}
			left, _ := processes(binary)
			require.Zero(t, left, "processes are left")
		})
	}
}

func TestWhoeverInterruptsOrKillsTheParentEndsAll(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	servers := ensemble.Start(t, 1).Servers()
	binary, dir := program(t)
	for _, end := range []os.Signal{os.Interrupt, os.Kill} {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
		cmd := exec.CommandContext(ctx, binary, "-dir", dir, "-zk", strings.Join(servers, ","))
		out := must(cmd.StdoutPipe())
		require.NoError(t, cmd.Start())
		for lines := bufio.NewScanner(out); lines.Scan() && !strings.Contains(lines.Text(), "pause "); {
		}
		require.Eventually(t, func() bool { // the system ends a stopped process whose parent goes, if it is stopped by then
			all, stopped := processes(binary)
			return all == 0 || stopped > 0
		}, time.Minute, time.Millisecond)
		require.NoError(t, cmd.Process.Signal(end))
		require.Error(t, cmd.Wait())
		cancel()
		require.Eventually(t, func() bool {
			all, _ := processes(binary)
			return all == 0
		}, time.Minute, 50*time.Millisecond)
		if end == os.Interrupt {
			s := must(session.Open(t.Context(), servers))
			names, _, err := s.Children(t.Context(), "/")
			require.NoError(t, err)
			require.Equal(t, []string{"zookeeper"}, names, "znodes are left")
			require.NoError(t, s.Close(t.Context()))
		}
	}
}

func TestBadArgumentsAreRefusedAtOnce(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	binary, dir := program(t)
	for want, args := range map[string][]string{
		"no such file": {"-dir", "/no/such/directory"},
		`"here"`:       {"here"},
		"servers":      {"-dir", dir, "-zk", "host:x"},
	} {
		out, err := exec.CommandContext(t.Context(), binary, args...).CombinedOutput()
		var status *exec.ExitError
		require.ErrorAs(t, err, &status, "%s", out)
		require.Contains(t, string(out), want)
	}
}
