//go:build !linux

package run

import "syscall"

// dieWithParent can't be had here: workers end when their input does, but for stopped ones.
func dieWithParent() *syscall.SysProcAttr { return nil }
