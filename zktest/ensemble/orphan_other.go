//go:build !linux

package ensemble

import "syscall"

// dieWithParent can't be had here: a process that is killed leaves its servers running.
func dieWithParent() *syscall.SysProcAttr { return nil }
