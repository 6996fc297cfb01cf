//go:build unix && !linux

package main

import "syscall"

func bind(*syscall.SysProcAttr) {}
