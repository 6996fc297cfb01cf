//go:build unix

package main

import (
	"os"
	"os/exec"
	"syscall"
)

// canPause: this system can stop a process and let it go on.
const canPause = true

// setApart gives a worker a process group of its own. So an interrupt from the terminal reaches the
// parent alone; and should the parent be killed while the worker is paused, the system ends the
// worker, since nobody is left to continue it.
func setApart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func suspend(p *os.Process) error { return p.Signal(syscall.SIGSTOP) }
func proceed(p *os.Process) error { return p.Signal(syscall.SIGCONT) }
