//go:build unix

package ensemble

import (
	"errors"
	"os"
	"syscall"
)

// supported is nil where servers can be paused.
var supported error

func suspend(p *os.Process) error { return p.Signal(syscall.SIGSTOP) }

func resume(p *os.Process) error { return p.Signal(syscall.SIGCONT) }

// tryLock takes the lock on a file, until it is closed or this process ends. False if another has it.
func tryLock(f *os.File) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}
