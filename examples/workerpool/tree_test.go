package main

// The files of a directory and their digests; what is shown of the progress; functions that run
// together.

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestListsRegularFilesInOneOrder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"b.txt", "a/x", "a.b", "a/c/y", "a-"} {
		write(t, dir, name, name)
	}
	require.NoError(t, os.Symlink("b.txt", filepath.Join(dir, "link")))
	_, err := listFiles(filepath.Join(dir, "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
	files, err := listFiles(dir)
	require.NoError(t, err)
	require.Equal(t, []string{"a-", "a.b", "a/c/y", "a/x", "b.txt"}, files)
}

func TestSerialRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "d/f", "hello")
	sum := sha256.Sum256([]byte("hello"))
	digests, err := hashSerially(t.Context(), dir)
	require.NoError(t, err)
	require.Equal(t, []digest{{Path: "d/f", Size: 5, Sum: hex.EncodeToString(sum[:])}}, digests)
	require.Equal(t, digest{Path: "gone", Sum: unreadable}, hashFile(dir, "gone"))
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
}

func TestProgressLine(t *testing.T) {
	t.Parallel()
	require.Equal(t, " 50%  5/10 files  1.5 MB  w2.1 leads  6 epochs  2 takeovers",
		view{Files: 5, Of: 10, Bytes: 1_500_000, Leader: "w2.1", Epochs: 6, Takeovers: 2}.String())
	require.Equal(t, "100%  0/0 files  0.0 MB  nobody leads  0 epochs  0 takeovers", view{}.String())
	require.LessOrEqual(t, len(view{Files: 999_999, Of: 999_999, Bytes: 99_999_000_000, Leader: "w64.10", Epochs: 99, Takeovers: 99}.String()), 79)
}

func TestScreenRedrawsATerminalInPlaceAndHasPlainLinesElsewhere(t *testing.T) {
	t.Parallel()
	const first, last, erased = "  0%  0/1 files  0.0 MB  nobody leads  0 epochs  0 takeovers", "100%  1/1 files  0.0 MB  nobody leads  0 epochs  0 takeovers", "\r\x1b[K"
	for terminal, want := range map[bool]string{
		true:  first + erased + "event 1\n" + first + erased + last + erased,
		false: first + "\nevent 1\n" + last + "\n",
	} {
		var out bytes.Buffer
		s := &screen{out: &out, terminal: terminal}
		s.show(view{Of: 1})
		s.say("event %d", 1)
		if !terminal {
			s.show(view{Of: 1}) // what is not new is not told again
		}
		s.show(view{Files: 1, Of: 1})
		s.close()
		require.Equal(t, want, out.String())
	}
}

func TestTogetherTheFirstErrorEndsTheOthers(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	waits := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	fails := func(context.Context) error { return broken }
	require.ErrorIs(t, together(t.Context(), waits, fails, waits), broken)
	ctx, cancel := context.WithCancel(t.Context())
	ends := func(ctx context.Context) error { cancel(); return ctx.Err() }
	require.NoError(t, together(ctx, ends), "the end of the context is none")
	require.NoError(t, together(t.Context()))
}

func TestAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		late, done := after(ctx, time.Second)
		defer done()
		began := time.Now()
		cancel()
		<-late.Done()
		require.Equal(t, time.Second, time.Since(began))
	})
}
