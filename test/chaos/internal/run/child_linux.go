package run

import "syscall"

// dieWithParent makes the kernel kill a worker when the thread that started it ends, also a stopped
// one.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
