//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

const canPause = true

// setApart gives a process a group of its own: an interrupt from the terminal reaches only the
// parent, and the system ends a paused process whose parent is gone.
func setApart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// pause stops the process's code, as a laptop that is closed does.
func (m *member) pause()  { _ = m.cmd.Process.Signal(syscall.SIGSTOP) } // it fails if the process has ended
func (m *member) resume() { _ = m.cmd.Process.Signal(syscall.SIGCONT) }
