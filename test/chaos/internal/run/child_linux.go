package run

import "syscall"

// dieWithParent makes the kernel kill a worker, even a stopped one, when the thread that started it
// ends.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
