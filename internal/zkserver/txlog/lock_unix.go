//go:build unix

package txlog

import (
	"errors"
	"os"
	"syscall"
)

// tryLock takes the lock on a file, until it is closed or this process ends, however that happens.
// False if another process has it.
func tryLock(f *os.File) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// syncFolder brings the names of a folder to the disk.
func syncFolder(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
