package tempdir_test

// Folders that go with the process that made them, or with the next one.

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/troupe-go/troupe/internal/tempdir"
	"github.com/troupe-go/troupe/internal/test/tier"
)

const (
	kind = "troupe-tempdir"
	// abandonedEnv has the test binary make a folder, say where, and wait to be killed.
	abandonedEnv = "TROUPE_TEMPDIR_ABANDONED"
)

func TestMain(m *testing.M) {
	if os.Getenv(abandonedEnv) != "" {
		abandon()
		return
	}
	goleak.VerifyTestMain(m)
}

func abandon() {
	f, err := tempdir.New(kind)
	if err != nil {
		panic(err)
	}
	fmt.Println(f.Path())
	_, _ = io.Copy(io.Discard, os.Stdin) // until it is killed, or the process that started it has ended
}

func TestAFolderGoesWhenItIsRemoved(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	f, err := tempdir.New(kind)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(f.Path(), "file"), nil, 0o600))
	tempdir.Sweep(os.TempDir(), kind)
	require.FileExists(t, filepath.Join(f.Path(), "file"), "in use")
	f.Remove()
	require.NoDirExists(t, f.Path())
	f.Remove()
	(*tempdir.Folder)(nil).Remove()
}

func TestAFolderOfAKilledProcessGoesWithTheNext(t *testing.T) {
	tier.Real(t)
	t.Setenv("TMPDIR", t.TempDir())
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), abandonedEnv+"=1")
	_, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	theirs := strings.TrimSpace(line)
	f, err := tempdir.New(kind)
	require.NoError(t, err)
	defer f.Remove()
	require.DirExists(t, theirs, "in use")

	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	require.DirExists(t, theirs)
	next, err := tempdir.New(kind)
	require.NoError(t, err)
	defer next.Remove()
	require.NoDirExists(t, theirs)
	require.DirExists(t, f.Path())
}

func TestAFolderThatWasNeverLockedGoesInTime(t *testing.T) {
	t.Parallel()
	tmp := t.TempDir()
	young, old, other := filepath.Join(tmp, kind+"-1"), filepath.Join(tmp, kind+"-2"), filepath.Join(tmp, "other-1")
	before := time.Now().Add(-2 * time.Hour)
	for _, path := range []string{young, old, other} {
		require.NoError(t, os.Mkdir(path, 0o700))
	}
	require.NoError(t, os.Chtimes(old, before, before))
	require.NoError(t, os.Chtimes(other, before, before))
	tempdir.Sweep(tmp, kind)
	require.DirExists(t, young, "it may be in the making")
	require.NoDirExists(t, old)
	require.DirExists(t, other, "somebody else's")
}

func TestAFolderThatCannotBeMade(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	_, err := tempdir.New(kind)
	require.ErrorIs(t, err, os.ErrNotExist)
}
