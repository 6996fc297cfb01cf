package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/term"
)

// child is a command that runs.
type child struct {
	cmd   *exec.Cmd
	group bool       // it is the leader of a process group of its own
	ended chan error // receives what its Wait returns
}

// spawn starts a command with the program's own input and output. On a terminal it stays in the
// program's process group, since others may not read from there.
func (a *app) spawn(argv []string, env ...string) (*child, error) {
	file, ok := a.in.(*os.File)
	c := &child{cmd: exec.Command(argv[0], argv[1:]...), group: !ok || !term.IsTerminal(int(file.Fd())), ended: make(chan error, 1)}
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = a.in, a.out, a.log
	c.cmd.Env = append(os.Environ(), env...)
	c.cmd.SysProcAttr = attributes(c.group)
	started := make(chan error)
	go func() { // ends with the command
		runtime.LockOSThread() // Linux counts the end of the thread that started the command as its parent's
		defer runtime.UnlockOSThread()
		err := c.cmd.Start()
		started <- err
		if err == nil {
			c.ended <- c.cmd.Wait()
		}
	}()
	return c, <-started
}

// notStarted is why a command cannot be started, with the status that a shell has for it.
func notStarted(err error) error {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return failure{127, err}
	}
	return failure{126, err}
}

// exited is how a command has ended, nil if with success.
func exited(err error) error {
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return err
	}
	if s, ok := exit.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		return failure{128 + int(s.Signal()), errNone}
	}
	return failure{exit.ExitCode(), errNone}
}
