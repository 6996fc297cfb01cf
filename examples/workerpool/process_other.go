//go:build !unix

package main

import (
	"errors"
	"os"
	"os/exec"
)

// canPause: this system cannot stop a process and let it go on.
const canPause = false

func setApart(*exec.Cmd) {}

func suspend(*os.Process) error { return errors.ErrUnsupported }
func proceed(*os.Process) error { return nil }
