//go:build unix

package ground

import (
	"os/exec"
	"syscall"
)

// CanPause tells whether [Process.Pause] does anything on this operating system.
const CanPause = true

// setApart gives a process a group of its own: an interrupt from the terminal reaches only the
// parent, and the system ends a paused process whose parent is gone.
func setApart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// Pause stops the process's code, as a laptop that is closed does.
func (p *Process) Pause() { _ = p.cmd.Process.Signal(syscall.SIGSTOP) } // it fails if the process has ended

// Resume ends a Pause.
func (p *Process) Resume() { _ = p.cmd.Process.Signal(syscall.SIGCONT) }
