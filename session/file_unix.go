//go:build unix && !solaris && !aix

package session

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"syscall"
)

// fileKey tells files apart, independent of their names.
type fileKey struct{ device, inode uint64 }

// openOwn opens a file that only this process's user, root and a group may read or write, or makes
// it. It may be root's, as on a volume with Kubernetes' fsGroup.
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
		stat := info.Sys().(*syscall.Stat_t) //nolint:forcetypeassert // on these systems it is
		if err = refused(info.Mode(), int(stat.Uid), os.Geteuid()); err == nil {
			if info.Mode()&0o070 != 0 {
				log.Warn("a group may read or write the session file", "file", path, "mode", info.Mode(), "group", stat.Gid)
			}
			return f, fileKey{uint64(stat.Dev), stat.Ino}, nil //nolint:unconvert // its type differs between systems
		}
		err = fmt.Errorf("%s: %w", path, err)
	}
	_ = f.Close()
	return nil, fileKey{}, err
}

// refused is why a process of a user may not have a file of an owner; nil: it may.
func refused(mode os.FileMode, owner, user int) error {
	switch {
	case !mode.IsRegular():
		return errors.New("it is no regular file")
	case owner != user && owner != 0:
		return errors.New("it is another user's")
	case mode&0o007 != 0:
		return fmt.Errorf("others may read or write it (%v): 0600 is right", mode)
	}
	return nil
}

// lockFile locks a file as long as any process has it open; it does not wait.
func lockFile(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }
