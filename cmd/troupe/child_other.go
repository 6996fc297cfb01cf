//go:build !unix

package main

import (
	"os"
	"syscall"
)

var passed = []os.Signal{os.Interrupt}

func attributes(bool) *syscall.SysProcAttr { return nil }

// signal ends the command: there are no signals here.
func (c *child) signal(syscall.Signal) { _ = c.cmd.Process.Kill() }

func (c *child) pass(syscall.Signal) {} // the command has got it as well
