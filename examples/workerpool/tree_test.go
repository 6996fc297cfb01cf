package main

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestListsRegularFilesInOneOrder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"b.txt", "a/x", "a.b", "a/c/y", "a-"} {
		write(t, dir, name, name)
	}
	require.NoError(t, os.Symlink("b.txt", filepath.Join(dir, "link")))
	files, err := listFiles(dir)
	require.NoError(t, err)
	require.Equal(t, []string{"a-", "a.b", "a/c/y", "a/x", "b.txt"}, files)
}

func TestDirectoryThatIsNotThere(t *testing.T) {
	t.Parallel()
	_, err := listFiles(filepath.Join(t.TempDir(), "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestSerialRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "d/f", "hello")
	sum := sha256.Sum256([]byte("hello"))
	digests, err := hashSerially(t.Context(), dir)
	require.NoError(t, err)
	require.Equal(t, []digest{{Path: "d/f", Size: 5, Sum: hex.EncodeToString(sum[:])}}, digests)
}

func TestFileThatCannotBeReadIsSaidToBe(t *testing.T) {
	t.Parallel()
	require.Equal(t, digest{Path: "gone", Sum: unreadable}, hashFile(t.TempDir(), "gone"))
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
}
