package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/troupe-go/troupe/examples/internal/ground"
)

// process is the service as the parent sees it.
type process struct {
	name  string
	cmd   *exec.Cmd
	stdin io.WriteCloser
	ended chan struct{}
}

// event is a line that a process has written, or its end.
type event struct {
	from *process
	line string // "" at the end
}

// launch starts this program as the service.
func launch(ctx context.Context, g *ground.Ground, name string, events chan<- event) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{name: name, ended: make(chan struct{})}
	p.cmd = exec.CommandContext(ctx, self, serviceRole, "-zk", strings.Join(g.Servers, ","), "-namespace", g.Namespace, "-name", name)
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
		return nil, fmt.Errorf("service %s: %w", name, err)
	}
	go func() { // ends with the process
		defer close(p.ended)
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			events <- event{p, lines.Text()}
		}
		_ = p.cmd.Wait() // how it ended is what the parent did to it
	}()
	return p, nil
}

// kill ends the process without warning.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended already
	<-p.ended
}

// stop ends it as an orchestrator does: with a word, and time to tidy up.
func (p *process) stop() {
	_ = p.stdin.Close()
	<-p.ended
}
