//go:build unix

package main

import (
	"os"
	"os/exec"
	"syscall"
)

// canPause is true: this operating system can stop and continue a process.
const canPause = true

// setApart gives a worker a process group of its own. So an interrupt from the terminal reaches
// only the parent. If the parent is killed while the worker is paused, the system ends the worker.
func setApart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func suspend(p *os.Process) error { return p.Signal(syscall.SIGSTOP) }
func proceed(p *os.Process) error { return p.Signal(syscall.SIGCONT) }
