//go:build !unix

package main

import (
	"errors"
	"os"
	"os/exec"
)

// canPause is false: this operating system cannot stop and continue a process.
const canPause = false

func setApart(*exec.Cmd) {}

func suspend(*os.Process) error { return errors.ErrUnsupported }
func proceed(*os.Process) error { return nil }
