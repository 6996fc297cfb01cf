//go:build linux || freebsd

package main

import "syscall"

// attributes make a command die with the thread that starts it; it may have a process group.
func attributes(group bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: group, Pdeathsig: syscall.SIGKILL}
}
