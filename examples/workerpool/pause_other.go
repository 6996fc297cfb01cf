//go:build !unix

package main

import "os/exec"

const canPause = false

func setApart(*exec.Cmd) {}
func (*member) pause()   {}
func (*member) resume()  {}
