package ensemble

import "syscall"

// dieWithParent makes the kernel kill the child when the thread that started it ends, however that
// comes about.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
