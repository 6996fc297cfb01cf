//go:build !linux

package run

import "syscall"

// dieWithParent is not possible here: workers end when their input does, except stopped ones.
func dieWithParent() *syscall.SysProcAttr { return nil }
