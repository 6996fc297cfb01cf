//go:build unix && !linux && !freebsd

package main

import "syscall"

// attributes: only Linux and FreeBSD can tie the end of a command to that of its parent.
func attributes(group bool) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: group} }
