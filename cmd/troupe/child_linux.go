package main

import "syscall"

// bind makes a command die with the thread that starts it.
func bind(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }
