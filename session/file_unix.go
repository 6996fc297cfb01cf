//go:build unix && !solaris && !aix

package session

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"syscall"
)

// fileKey tells files apart, whatever they are called.
type fileKey struct{ device, inode uint64 }

// openOwn opens a file that nobody may read or write but this process's user and a group, or makes
// it. One of root's may be opened for the sake of a group: Kubernetes' fsGroup gives a volume one.
func openOwn(path string, log *slog.Logger) (*os.File, fileKey, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		if errors.Is(err, syscall.ELOOP) {
			err = fmt.Errorf("%s: it is a symbolic link", path)
		}
		return nil, fileKey{}, err
	}
	info, err := f.Stat()
	if err == nil {
		stat, _ := info.Sys().(*syscall.Stat_t)
		switch {
		case !info.Mode().IsRegular():
			err = fmt.Errorf("%s: it is no regular file", path)
		case stat == nil || stat.Uid != 0 && int(stat.Uid) != os.Geteuid():
			err = fmt.Errorf("%s: it is another user's", path)
		case info.Mode().Perm()&0o007 != 0:
			err = fmt.Errorf("%s: others may read or write it (%v): 0600 is right", path, info.Mode().Perm())
		default:
			if info.Mode().Perm()&0o070 != 0 {
				log.Warn("a group may read or write the session file", "file", path, "mode", info.Mode().Perm(), "group", stat.Gid)
			}
			return f, fileKey{uint64(stat.Dev), stat.Ino}, nil //nolint:unconvert // its type differs between systems
		}
	}
	_ = f.Close()
	return nil, fileKey{}, err
}

// lockFile locks a file as long as it is open, by whichever process; it does not wait.
func lockFile(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }
