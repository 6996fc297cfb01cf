//go:build !unix

package ground

import "os/exec"

// CanPause tells whether [Process.Pause] does anything on this operating system.
const CanPause = false

func setApart(*exec.Cmd) {}

// Pause and Resume do nothing.
func (p *Process) Pause()  {}
func (p *Process) Resume() {}
