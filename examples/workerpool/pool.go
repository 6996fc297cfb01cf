package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/troupe-go/troupe/zktest"
)

// pool has the worker processes, one per slot.
type pool struct {
	server *zktest.Server // inside this program; nil: zk is outside
	zk     string         // the servers, and the namespace
	dir    string

	mu      sync.Mutex
	workers [4]*member
	started int
	refused []refusal
}

// refusal is a write that was refused. One token may be that of several batches, claimed at once.
type refusal struct {
	batch int
	token int64
}

// member is one worker process.
type member struct {
	name    string // w<slot>.<number of the process>
	cmd     *exec.Cmd
	stdin   io.Closer     // its end is the worker's
	ended   chan struct{} // closed when the process has ended, and err says how
	err     error
	session int64     // its present one; 0: none yet
	away    time.Time // until when it is paused or partitioned
}

// launch puts a new process into a slot. It lives no longer than ctx.
func (p *pool) launch(ctx context.Context, slot int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.started++
	m := &member{name: fmt.Sprintf("w%d.%d", slot+1, p.started), ended: make(chan struct{})}
	m.cmd = exec.CommandContext(ctx, os.Args[0], "-worker", m.name, "-zk", p.zk, "-dir", p.dir)
	m.cmd.Stderr = os.Stderr
	setApart(m.cmd)
	stdin, err1 := m.cmd.StdinPipe()
	stdout, err2 := m.cmd.StdoutPipe()
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	if err := m.cmd.Start(); err != nil {
		return err
	}
	m.stdin, p.workers[slot] = stdin, m
	go func() { // ends with the process
		defer close(m.ended)
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			p.heard(m, lines.Text())
		}
		m.err = m.cmd.Wait()
	}()
	return nil
}

// heard records a worker's output. Nothing is coordinated with that.
func (p *pool) heard(m *member, line string) {
	var what string
	var batch int
	var n int64
	if _, err := fmt.Sscan(line, &what, &batch, &n); err != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch what {
	case "session":
		m.session = n
	case "refused":
		p.refused = append(p.refused, refusal{batch, n})
	}
}

// ended returns an error if a worker has ended that was not killed.
func (p *pool) ended() error {
	for _, m := range p.workers {
		select {
		case <-m.ended:
			return fmt.Errorf("%s ended unexpectedly: %w", m.name, m.err)
		default:
		}
	}
	return nil
}

// stop lets all workers end.
func (p *pool) stop() error {
	var errs []error
	for _, m := range p.workers {
		m.resume()
		_ = m.stdin.Close() // it may have ended already
		<-m.ended
		errs = append(errs, m.err)
	}
	return errors.Join(errs...)
}

// fault is a blow, and its victim.
type fault struct{ blow, victim string }

const (
	kill      = "kill"      // without warning; another process takes its place
	pause     = "pause"     // its code stops, for longer than its session lasts
	partition = "partition" // nothing reaches ZooKeeper, for longer than its session lasts

	aWorker        = "a worker"
	theCoordinator = "the coordinator"

	away = 3 * time.Second
)

func (f fault) String() string { return f.blow + " " + f.victim }

// possible returns the faults that this operating system and these servers allow.
func (p *pool) possible() []fault {
	blows := []string{kill}
	if canPause {
		blows = append(blows, pause)
	}
	if p.server != nil {
		blows = append(blows, partition)
	}
	var all []fault
	for _, b := range blows {
		all = append(all, fault{b, aWorker}, fault{b, theCoordinator})
	}
	return all
}

// strike strikes a random victim, and returns its name; "" if there is none at the moment.
func (p *pool) strike(ctx context.Context, f fault, leader string) (name string, err error) {
	slot, session := p.choose(f.victim, leader)
	if slot < 0 {
		return "", nil
	}
	m := p.workers[slot]
	switch f.blow {
	case kill:
		_ = m.cmd.Process.Kill() // likewise
		<-m.ended
		return m.name, p.launch(ctx, slot)
	case pause:
		m.pause()
		time.AfterFunc(away, m.resume)
	case partition:
		time.AfterFunc(away, p.server.Partition(session))
	}
	m.away = time.Now().Add(away)
	return m.name, nil
}

// choose chooses a worker that has a session and is neither paused nor partitioned.
func (p *pool) choose(victim, leader string) (slot int, session int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, slot := range rand.Perm(len(p.workers)) {
		m := p.workers[slot]
		if m.session != 0 && time.Now().After(m.away) && (m.name == leader) == (victim == theCoordinator) {
			return slot, m.session
		}
	}
	return -1, 0
}
