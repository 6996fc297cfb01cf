//go:build unix

package main

import (
	"bufio"
	"context"
	_ "embed" // the drivers' sources
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/troupe-go/troupe/interop"
)

// participant is a library in this process, a fleet, or in a process of its own, a child.
type participant interface {
	open(r *row, servers []string, path string) error // a session with each server, and all contenders
	run(n int) ([]moment, error)                      // all contenders make n cycles
	cpu() float64                                     // µs that the process has used
	close() error                                     // the sessions
	kill()                                            // ends contenders that are stuck; close follows
}

// contender is a lock's contender, or a party of a barrier. Holds reports whether it still holds,
// as far as its library knows.
type contender struct {
	lock, unlock func() error
	holds        func() bool
}

// session is a session of a library.
type session interface {
	contender(ctx context.Context, r *row, i int, path string) (contender, error)
	close() error
}

// fleet has the contenders of a library in this process.
type fleet struct {
	connect func(ctx context.Context, server string, timeout time.Duration) (session, error)
	collect func() // metrics, at the end of a turn; nil: there are none

	// Of one turn, set by open. A row of kind queue has works, the others have contenders.
	r          *row
	sessions   []session
	contenders []contender
	works      []work
	remaining  *remaining // items of a queue
	cancel     context.CancelFunc
	opened     time.Time

	// Contenders at work. In a row without cycles the first on each path hold until letGo closes
	// gate, so that the others can be lined up behind them; in other rows run does so at once.
	working sync.WaitGroup
	gate    <-chan struct{}
	letGo   context.CancelFunc

	mu  sync.Mutex
	log []moment
}

func (f *fleet) open(r *row, servers []string, path string) error {
	ctx, cancel := context.WithCancel(context.Background())
	gate, letGo := context.WithCancel(ctx)
	*f = fleet{connect: f.connect, collect: f.collect, r: r, remaining: new(remaining), cancel: cancel, gate: gate.Done(), letGo: letGo, opened: time.Now()}
	for _, server := range servers {
		s, err := f.connect(ctx, server, r.timeout())
		if err != nil {
			return err
		}
		f.sessions = append(f.sessions, s)
	}
	for i := range r.contenders() {
		if r.kind == "queue" {
			w, err := f.sessions[i%r.sessions].(worker).worker(ctx, r, i, path)
			if err != nil {
				return err
			}
			f.works = append(f.works, w)
			continue
		}
		c, err := f.sessions[i%r.sessions].contender(ctx, r, i, fmt.Sprint(path, "-", i%r.paths))
		if err != nil {
			return err
		}
		f.contenders = append(f.contenders, c)
	}
	return nil
}

func (f *fleet) run(n int) ([]moment, error) {
	f.remaining.left.Store(int64(f.r.contenders() / 2 * n))
	f.begin(0, f.r.contenders(), n)
	return f.wait(), nil
}

// begin lets the contenders from from to before to work. Until wait opens the gate, holders keep
// their locks.
func (f *fleet) begin(from, to, n int) {
	for i := from; i < to; i++ {
		f.working.Go(func() { // ends with its cycles, at the latest when kill closes its session
			var err error
			if f.r.kind == "queue" {
				err = f.queue(i, n)
			} else {
				for k := 0; k < n && err == nil; k++ {
					err = f.cycle(i)
				}
			}
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				f.record(failed, i)
			}
		})
	}
}

// wait opens the gate, and returns, when all contenders have ended, the moments since the last
// wait.
func (f *fleet) wait() (log []moment) {
	f.letGo()
	f.working.Wait()
	log, f.log = f.log, nil
	return log
}

func (f *fleet) record(what byte, i int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.log = append(f.log, moment{what, i, time.Since(f.opened)})
}

// cycle lets a contender get its lock and give it back. In the row crash nothing is given back: the
// sessions of the first on each path expire, and the others are granted one after the other.
func (f *fleet) cycle(i int) error {
	f.record(comes, i)
	if err := f.contenders[i].lock(); err != nil {
		return err
	}
	crash, holder := f.r.kind == "crash", i%f.r.paths // the first on the path
	if crash && i != holder && !f.contenders[holder].holds() {
		f.record(lost, holder)
	}
	f.record(enters, i)
	<-f.gate
	time.Sleep(f.r.work)
	if crash { // no contender releases
		return nil
	}
	f.record(leaves, i)
	err := f.contenders[i].unlock()
	f.record(gone, i)
	return err
}

func (*fleet) cpu() float64 { return cpu() }

// kill ends the waits of contenders, with the context or with their session.
func (f *fleet) kill() { _ = f.close() }

func (f *fleet) close() (err error) {
	f.cancel()
	for _, s := range f.sessions {
		err = errors.Join(err, s.close())
	}
	f.working.Wait()
	return err
}

var (
	//go:embed Peer.java
	javaSource []byte
	//go:embed peer.py
	pythonSource []byte
)

// child is a library in a process of its own, Curator or kazoo, in the place of a fleet. A request
// is a line "verb arguments", its answer "ok values" or "error text".
type child struct {
	words   []string // of its command line
	stdin   io.WriteCloser
	answers *bufio.Reader
	pid     string

	mu      sync.Mutex // for kill, which a timer calls beside the other methods
	command *exec.Cmd  // nil: no process
}

// children are Curator and kazoo, with their sources in a folder. The first turn starts a process.
func children(folder string) (curator, kazoo *child, err error) {
	java, noJava := interop.FindJava()
	python, noKazoo := interop.FindKazoo()
	files := []string{filepath.Join(folder, "Peer.java"), filepath.Join(folder, "peer.py")}
	err = errors.Join(noJava, noKazoo, os.WriteFile(files[0], javaSource, 0o600), os.WriteFile(files[1], pythonSource, 0o600))
	flags := []string{java.Java, "-Xmx1g", "-XX:+UseSerialGC", "-Dorg.slf4j.simpleLogger.defaultLogLevel=off", "-cp", java.ClassPath, files[0]}
	return &child{words: flags}, &child{words: []string{python, files[1]}}, err
}

// ask sends a request and returns the values of its answer.
func (c *child) ask(words ...any) ([]string, error) {
	if c.command == nil {
		return nil, errors.New("the process has ended")
	}
	_, unsent := fmt.Fprintln(c.stdin, words...)
	line, unread := c.answers.ReadString('\n')
	if err := errors.Join(unsent, unread); err != nil {
		c.end() // the next turn has another process
		return nil, err
	}
	if values, ok := strings.CutPrefix(line, "ok"); ok {
		return strings.Fields(values), nil
	}
	return nil, errors.New(strings.TrimSpace(line))
}

func (c *child) open(r *row, servers []string, path string) error {
	if c.command == nil {
		command := exec.Command(c.words[0], c.words[1:]...)
		command.Stderr = os.Stderr
		out, noOut := command.StdoutPipe()
		in, noIn := command.StdinPipe()
		if err := errors.Join(noOut, noIn, command.Start()); err != nil {
			return err
		}
		c.stdin, c.answers, c.pid = in, bufio.NewReader(out), strconv.Itoa(command.Process.Pid)
		c.set(command)
	}
	_, err := c.ask("open", r.kind, r.contenders(), r.paths, r.work.Milliseconds(), r.timeout().Milliseconds(), path, strings.Join(servers, ","))
	return err
}

func (c *child) run(n int) (log []moment, err error) {
	values, err := c.ask("run", n)
	for ; len(values) >= 3; values = values[3:] {
		i, noIndex := strconv.Atoi(values[1])
		at, noTime := strconv.ParseInt(values[2], 10, 64)
		err = errors.Join(err, noIndex, noTime)
		log = append(log, moment{values[0][0], i, time.Duration(at)})
	}
	return log, err
}

func (c *child) cpu() float64 { return used(c.pid) }

func (c *child) close() error {
	_, err := c.ask("close")
	return err
}

func (c *child) set(command *exec.Cmd) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.command = command
}

func (c *child) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.command != nil {
		_ = c.command.Process.Kill() // unless it has ended
	}
}

// end ends the process, if there is one.
func (c *child) end() {
	if c.command != nil {
		c.kill()
		_ = c.command.Wait() // the answers had its errors
		c.set(nil)
	}
}
