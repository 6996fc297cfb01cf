package ensemble

import (
	"os"
	"os/exec"
	"runtime"
)

// process is one run of a server's virtual machine.
type process struct {
	os     *os.Process
	exited chan struct{} // closed when it is dead and reaped
}

// launch starts a command that dies with this process.
func launch(java string, args []string, dir string, log *os.File) (*process, error) {
	cmd := exec.Command(java, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = dir, log, log, dieWithParent()
	p := &process{exited: make(chan struct{})}
	started := make(chan error, 1)
	// Owner: the process; ends when the child is dead. It keeps its thread, because Linux kills the
	// child when the thread that started it ends.
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // a killed server is what tests ask for
			close(p.exited)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	p.os = cmd.Process
	return p, nil
}

// kill returns when the process is dead.
func (p *process) kill() {
	_ = p.os.Kill() // fails only if it is dead already
	<-p.exited
}
