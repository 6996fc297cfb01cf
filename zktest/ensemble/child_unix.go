//go:build unix

package ensemble

import (
	"os"
	"syscall"
)

// supported is nil where servers can be paused.
var supported error

func suspend(p *os.Process) error { return p.Signal(syscall.SIGSTOP) }

func resume(p *os.Process) error { return p.Signal(syscall.SIGCONT) }
