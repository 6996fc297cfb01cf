//go:build unix

package main

// The program as a user starts it.

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// build makes the binary, once; TestMain removes it.
var build = sync.OnceValues(func() (string, error) {
	binary := filepath.Join(scratch, "workerpool")
	out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return binary, err
})

// program is the binary under a path that is this test's alone, so that its processes can be told
// from others.
func program(t *testing.T) string {
	t.Helper()
	built, err := build()
	require.NoError(t, err)
	binary := filepath.Join(t.TempDir(), "workerpool")
	require.NoError(t, os.Link(built, binary))
	t.Cleanup(func() { require.Empty(t, processes(binary), "processes are left") })
	return binary
}

// processes are those that run the binary: their command lines by process number. Where there is no
// /proc, none are seen.
func processes(binary string) map[string]string {
	found := make(map[string]string)
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, p := range paths {
		line, err := os.ReadFile(p)
		if err == nil && bytes.HasPrefix(line, []byte(binary+"\x00")) {
			found[filepath.Base(filepath.Dir(p))] = string(bytes.ReplaceAll(line, []byte{0}, []byte{' '}))
		}
	}
	return found
}

// stopped tells whether a process of this program is stopped, by SIGSTOP.
func stopped(binary string) bool {
	for pid := range processes(binary) {
		stat, _ := os.ReadFile("/proc/" + pid + "/stat")
		if _, state, _ := bytes.Cut(stat, []byte(") ")); bytes.HasPrefix(state, []byte("T")) {
			return true
		}
	}
	return false
}

// tree makes a directory with this many small files.
func tree(t *testing.T, files int) string {
	t.Helper()
	dir := t.TempDir()
	dice := rand.NewChaCha8([32]byte{})
	for i := range files {
		content := make([]byte, dice.Uint64()%20_000)
		_, _ = dice.Read(content)
		write(t, dir, fmt.Sprintf("d%d/file %d", i%7, i), string(content))
	}
	return dir
}

// output collects what a process prints, and lets a test wait for a part of it.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func (o *output) await(t *testing.T, part string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(o.String(), part) }, time.Minute, 5*time.Millisecond, "%s", o)
}

func command(t *testing.T, binary string, args ...string) (*exec.Cmd, *output) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	var out output
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = 5 * time.Second
	return cmd, &out
}

func TestEndToEnd(t *testing.T) {
	tier.Soak(t)
	t.Parallel()
	for name, embedded := range map[string]bool{"embedded server": true, "real ensemble": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := []string{"-dir", tree(t, 2400), "-workers", "3", "-batch", "6"}
			var servers []string
			if !embedded {
				servers = ensemble.Start(t, 3).Servers()
				args = append(args, "-zk", strings.Join(servers, ","))
			}
			cmd, out := command(t, program(t), args...)
			require.NoError(t, cmd.Run(), "%s", out)
			t.Log(out)
			require.Contains(t, out.String(), "every file once, same digests, no result by a stale holder")
			for _, k := range possible(canPause, embedded) {
				require.Contains(t, out.String(), k.String()+" ×", "each kind of strike has happened while there was work")
			}
			if !embedded {
				require.Empty(t, namespaces(t, servers), "znodes are left")
			}
		})
	}
}

func TestInterruptLeavesNothing(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	servers := ensemble.Start(t, 1).Servers()
	cmd, out := command(t, program(t), "-dir", tree(t, 2400), "-workers", "3", "-batch", "6", "-zk", strings.Join(servers, ","))
	require.NoError(t, cmd.Start())
	out.await(t, "pause ") // somebody is down
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	var status *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &status)
	require.Equal(t, 1, status.ExitCode(), "%s", out)
	require.Contains(t, out.String(), "interrupt")
	require.Empty(t, namespaces(t, servers), "znodes are left")
}

func TestWorkersEndWithAParentThatIsKilled(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	binary := program(t)
	cmd, out := command(t, binary, "-dir", tree(t, 2400), "-workers", "3", "-batch", "6")
	require.NoError(t, cmd.Start())
	out.await(t, "pause ")
	// The system ends what is stopped, not what is about to be.
	require.Eventually(t, func() bool { return stopped(binary) }, time.Minute, time.Millisecond)
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	require.Eventually(t, func() bool { return len(processes(binary)) == 0 }, time.Minute, 50*time.Millisecond)
}

func TestBadArgumentsAreRefusedAtOnce(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	binary := program(t)
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"no such directory": {[]string{"-dir", "/no/such/directory"}, "no such file"},
		"no workers":        {[]string{"-workers", "0"}, "-workers 0"},
		"negative batch":    {[]string{"-batch", "-1"}, "-batch -1"},
		"short session":     {[]string{"-session", "1ms"}, "-session 1ms"},
		"stray argument":    {[]string{"here"}, `"here"`},
		"bad servers":       {[]string{"-dir", t.TempDir(), "-zk", "host:x"}, "servers"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd, out := command(t, binary, tc.args...)
			var status *exec.ExitError
			require.ErrorAs(t, cmd.Run(), &status, "%s", out)
			require.Equal(t, 1, status.ExitCode())
			require.Contains(t, out.String(), tc.want)
		})
	}
}

// namespaces are those that runs have left on the servers.
func namespaces(t *testing.T, servers []string) []string {
	t.Helper()
	s, err := session.Open(t.Context(), servers)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close(context.WithoutCancel(t.Context()))) }()
	names, _, err := s.Children(t.Context(), "/")
	require.NoError(t, err)
	var left []string
	for _, n := range names {
		if strings.HasPrefix(n, "troupe-workerpool-") {
			left = append(left, n)
		}
	}
	return left
}
