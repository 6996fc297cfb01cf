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

// Process is this program, started again in another role, as its parent sees it.
type Process struct {
	Name string

	cmd   *exec.Cmd
	stdin io.WriteCloser
	ended chan struct{}
}

// Line is what a process has written to its standard output.
type Line struct {
	From *Process
	Text string
}

// Launch starts this program again with these arguments. Whoever receives from lines must go on
// doing so until the process has ended. ctx's end kills it.
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
			case <-ctx.Done(): // nobody listens any more
			}
		}
		_ = p.cmd.Wait() // how it ended is what the parent did to it
	}()
	return p, nil
}

// Kill ends the process without warning.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // it may have ended already
	<-p.ended
}

// Stop ends it as an orchestrator does, with a word and time to tidy up: its standard input ends.
func (p *Process) Stop() {
	_ = p.stdin.Close()
	<-p.ended
}

// Ended closes when the process has.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// UntilInputEnds is a context for a launched process: it ends when the parent says so, or is gone.
func UntilInputEnds(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() { // ends with standard input, or with the process
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	return ctx, cancel
}
