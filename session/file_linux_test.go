// The session file on a volume that belongs to root, with a group.

package session_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/session"
)

// asUser does something on a thread that is of another user, and ends with that. Only root can.
func asUser(t *testing.T, uid, gid uintptr, do func()) {
	t.Helper()
	done := make(chan syscall.Errno)
	go func() { // ends with do
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		_, _, failed := syscall.RawSyscall(syscall.SYS_SETGROUPS, 0, 0, 0)
		for _, of := range []struct{ call, id uintptr }{{syscall.SYS_SETRESGID, gid}, {syscall.SYS_SETRESUID, uid}} {
			if failed == 0 {
				_, _, failed = syscall.RawSyscall(of.call, of.id, of.id, of.id)
			}
		}
		if failed == 0 {
			do()
		}
		done <- failed
	}()
	if failed := <-done; failed != 0 {
		t.Skipf("only root can be another user: %v", failed)
	}
}

// Kubernetes' fsGroup makes root the owner of what is on a volume, and a group of the process its
// group, which may write.
func TestASessionFileOfRootAndOnesGroup(t *testing.T) {
	t.Parallel()
	const uid, gid = 54321, 54322
	for _, row := range []struct {
		owner int
		mode  os.FileMode
		wrong string
	}{{0, 0o660, ""}, {0, 0o640, "permission denied"}, {uid + 1, 0o660, "another user's"}, {uid, 0o600, ""}} {
		dir, err := os.MkdirTemp("", "troupe-*") // that of the test is root's alone
		require.NoError(t, err)
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		require.NoError(t, os.Chmod(dir, 0o755))
		file := filepath.Join(dir, "session")
		require.NoError(t, os.WriteFile(file, nil, row.mode))
		require.NoError(t, os.Chmod(file, row.mode))
		if err := os.Chown(file, row.owner, gid); err != nil {
			t.Skip("only root can give files away")
		}
		asUser(t, uid, gid, func() {
			var s *session.Session
			s, err = session.New([]string{"127.0.0.1:1"}, session.WithSessionFile(file), session.WithLogger(slog.New(slog.DiscardHandler)))
			if err == nil {
				_ = s.Close(t.Context())
			}
		})
		if row.wrong == "" {
			require.NoError(t, err, row)
		} else {
			require.ErrorContains(t, err, row.wrong, row)
		}
	}
}
