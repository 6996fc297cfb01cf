//go:build unix && !linux

package main

import "syscall"

// attributes: only Linux can tie the end of a command to that of its parent.
func attributes(group bool) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: group} }
