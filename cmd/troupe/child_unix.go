//go:build unix

package main

import (
	"os"
	"syscall"
)

// passed are the signals that the program passes on to its command.
var passed = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2}

// signal reaches the command's group, or the command alone if it has none.
func (c *child) signal(sig syscall.Signal) {
	if c.group {
		_ = syscall.Kill(-c.cmd.Process.Pid, sig) // the group may be empty by now
		return
	}
	_ = c.cmd.Process.Signal(sig)
}

// pass passes a signal on. The terminal has sent those of its keys to the command as well.
func (c *child) pass(sig syscall.Signal) {
	if c.group || sig != syscall.SIGINT && sig != syscall.SIGQUIT {
		c.signal(sig)
	}
}
