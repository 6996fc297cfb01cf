package ground

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// Process is another process of this program, as its parent sees it.
type Process struct {
	Name string

	cmd   *exec.Cmd
	stdin io.WriteCloser
	ended chan struct{}
	err   error
}

// The environment tells a process that it was launched, and where ZooKeeper is.
const launched, servers, namespace = "TROUPE_EXAMPLE_PROCESS", "TROUPE_EXAMPLE_SERVERS", "TROUPE_EXAMPLE_NAMESPACE"

// Launch starts this program again. The process finds the arguments with [Launched], and lives no
// longer than ctx. heard is called with each line that it prints.
func (g *Ground) Launch(ctx context.Context, name string, heard func(line string), args ...string) (*Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &Process{Name: name, ended: make(chan struct{})}
	p.cmd = exec.CommandContext(ctx, self, args...)
	p.cmd.Env = append(os.Environ(), launched+"="+name, servers+"="+g.Servers, namespace+"="+g.Namespace)
	p.cmd.WaitDelay = time.Second
	p.cmd.Stderr = os.Stderr
	setApart(p.cmd)
	stdin, err1 := p.cmd.StdinPipe()
	stdout, err2 := p.cmd.StdoutPipe()
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	p.stdin = stdin
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	go func() { // ends with the process
		defer close(p.ended)
		in := bufio.NewReader(stdout)
		for line, err := in.ReadString('\n'); err == nil; line, err = in.ReadString('\n') { // half a line is not heard
			heard(line[:len(line)-1])
		}
		if err := p.cmd.Wait(); err != nil {
			p.err = fmt.Errorf("%s: %w", name, err)
		}
	}()
	return p, nil
}

// Kill ends the process without warning, and waits for its end.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // it may have ended already
	<-p.ended
}

// Stop closes the process's standard input, which tells it to end, and waits for its end.
func (p *Process) Stop() error {
	p.Resume()
	_ = p.stdin.Close() // likewise
	<-p.ended
	return p.Err()
}

// Ended closes when the process has ended. Err then tells how.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Err returns nil if the process has ended by itself with status 0.
func (p *Process) Err() error { return p.err }

// Launched runs f, and exits, if this process was launched by another one. f's context ends when
// the parent stops this process, or is gone; an error of f after that is only its consequence. f
// gets the process's name and arguments.
func Launched(f func(ctx context.Context, g *Ground, name string, args []string) error) {
	name := os.Getenv(launched)
	if name == "" {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { // ends with standard input, or with the process
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	err := f(ctx, &Ground{Servers: os.Getenv(servers), Namespace: os.Getenv(namespace)}, name, os.Args[1:])
	if ctx.Err() != nil {
		err = nil
	}
	exit(name, err)
}
