package ensemble_test

// Nothing is left of an ensemble: no process, no folder.

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

func gone(pid int) bool { return syscall.Kill(pid, 0) != nil }

func TestNothingIsLeftAfterClose(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	servers, err := ensemble.New(1)
	require.NoError(t, err)
	pid, root := servers.Pid(0), servers.Root()
	servers.Close()
	servers.Close()
	require.True(t, gone(pid))
	require.NoDirExists(t, root)
}

func TestNothingIsLeftOfAKilledProcess(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	tmp := t.TempDir() // its own, lest another test's ensemble sweeps before this one looks
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), abandonedEnv+"=1", "TMPDIR="+tmp)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var pid int
	var root string
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	_, err = fmt.Sscan(line, &pid, &root)
	require.NoError(t, err, line)
	require.False(t, gone(pid))
	ensemble.Sweep(tmp)
	require.DirExists(t, root, "in use")

	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	require.Eventually(t, func() bool { return gone(pid) }, patience, 10*time.Millisecond, "the server dies with its process")
	require.DirExists(t, root)
	ensemble.Sweep(tmp)
	require.NoDirExists(t, root)
	left, err := filepath.Glob(filepath.Join(tmp, "*"))
	require.NoError(t, err)
	require.Empty(t, left)
}
