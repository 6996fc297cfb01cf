//go:build unix && !linux

package main

import "syscall"

func attributes(group bool) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: group} }
