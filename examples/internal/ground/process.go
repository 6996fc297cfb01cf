package ground

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// Process is another process of this program in another role, as its parent sees it.
type Process struct {
	Name string

	cmd   *exec.Cmd
	stdin io.WriteCloser
	ended chan struct{}
}

// Line is a line of a process's standard output.
type Line struct {
	From *Process
	Text string
}

// Launch starts this program again with the given arguments. The caller must receive from lines
// until the process has ended. The end of ctx kills the process.
func Launch(ctx context.Context, name string, lines chan<- Line, args ...string) (*Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &Process{Name: name, ended: make(chan struct{})}
	p.cmd = exec.CommandContext(ctx, self, args...)
	p.cmd.WaitDelay = time.Second
	p.cmd.Stderr = os.Stderr
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	go func() { // ends with the process
		defer close(p.ended)
		for scanner := bufio.NewScanner(stdout); scanner.Scan(); {
			select {
			case lines <- Line{p, scanner.Text()}:
			case <-ctx.Done(): // nobody receives any more
			}
		}
		_ = p.cmd.Wait() // the parent knows how it ended: it killed or stopped it
	}()
	return p, nil
}

// Kill ends the process without warning.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // it may have ended already
	<-p.ended
}

// Stop ends the process as an orchestrator does: its standard input ends, and it has time to clean
// up.
func (p *Process) Stop() {
	_ = p.stdin.Close()
	<-p.ended
}

// Ended is closed when the process has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// UntilInputEnds returns a context for a launched process. It ends when the parent closes the
// process's standard input, or is gone.
func UntilInputEnds(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() { // ends with standard input, or with the process
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	return ctx, cancel
}
