package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"
)

// pool runs one worker process per slot, and replaces a process that was killed. The only order
// that it gives its workers is to stop.
type pool struct {
	command func(name string) *exec.Cmd
	failed  func(error) // called when a worker that was not killed ends; must not block

	mu       sync.Mutex
	workers  []*process // one per slot
	started  int        // number of processes started so far
	epochs   int        // ZooKeeper sessions that workers have had
	refused  []refusal
	stopping bool

	minding sync.WaitGroup
}

// process is one worker process.
type process struct {
	name   string // w<slot>.<incarnation>
	cmd    *exec.Cmd
	orders io.Closer // its standard input; closing it is the order to stop
	ended  chan struct{}

	// Guarded by the pool's mutex.
	state   processState
	session int64 // 0: none yet
	timeout time.Duration
	working bool
}

type processState string

const (
	running processState = "running"
	paused  processState = "paused"
	killed  processState = "killed"
)

// fill starts a worker in each slot. Call stop even if it fails.
func (p *pool) fill(size int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for slot := range size {
		p.workers = append(p.workers, nil)
		if err := p.start(slot, 1); err != nil {
			return err
		}
	}
	return nil
}

// start puts a new process into a slot. The caller holds the mutex.
func (p *pool) start(slot, incarnation int) error {
	w := &process{name: fmt.Sprintf("w%d.%d", slot+1, incarnation), ended: make(chan struct{}), state: running}
	w.cmd = p.command(w.name)
	w.cmd.Stderr = os.Stderr
	setApart(w.cmd)
	orders, err := w.cmd.StdinPipe()
	if err != nil {
		return err
	}
	reports, err := w.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := w.cmd.Start(); err != nil {
		return err
	}
	w.orders = orders
	p.workers[slot] = w
	p.started++
	p.minding.Go(func() { // owned by the pool; ends with the process
		defer close(w.ended)
		readReports(reports, func(r report) { p.note(w, r) })
		p.replace(slot, incarnation, w.cmd.Wait())
	})
	return nil
}

// note records a worker's report.
func (p *pool) note(w *process, r report) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.Epoch != 0 {
		p.epochs++
		w.session, w.timeout = r.Session, r.Timeout
	}
	w.working = r.Working || w.working && !r.Idle
	if r.Refused != nil {
		p.refused = append(p.refused, *r.Refused)
	}
}

// works reports whether a worker is working on a batch, according to its reports.
func (p *pool) works(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.workers, func(w *process) bool { return w != nil && w.name == name && w.working })
}

// replace handles the end of the process in a slot.
func (p *pool) replace(slot, incarnation int, how error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.workers[slot]
	switch {
	case w.state != killed && (how != nil || !p.stopping):
		p.failed(fmt.Errorf("worker %s ended unexpectedly: %v", w.name, w.cmd.ProcessState))
	case !p.stopping:
		if err := p.start(slot, incarnation+1); err != nil {
			p.failed(fmt.Errorf("worker %s was killed and could not be replaced: %w", w.name, err))
		}
	}
}

// stop continues paused workers and ends all of them. Each may finish its current batch. A worker
// that takes longer than patience is killed, which is a failure. When stop returns, no process and
// no goroutine is left.
func (p *pool) stop(patience time.Duration) {
	p.mu.Lock()
	p.stopping = true
	workers := slices.Clone(p.workers)
	for _, w := range workers {
		if w != nil {
			_ = proceed(w.cmd.Process) // it fails only if the process has ended
			_ = w.orders.Close()       // likewise
		}
	}
	p.mu.Unlock()
	late := time.NewTimer(patience)
	defer late.Stop()
	for _, w := range workers {
		if w == nil {
			continue
		}
		select {
		case <-w.ended:
		case <-late.C:
			late.Reset(0) // the others get no more time
			p.failed(fmt.Errorf("worker %s did not stop within %v", w.name, patience))
			_ = p.kill(w)
		}
	}
	p.minding.Wait()
}

// target is a worker with its session when it was chosen.
type target struct {
	*process
	session int64
	timeout time.Duration
}

// choose picks a random running worker that has a session and for which pleases returns true.
func (p *pool) choose(pleases func(name string) bool) (target, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, slot := range rand.Perm(len(p.workers)) {
		if w := p.workers[slot]; w.state == running && w.session != 0 && pleases(w.name) {
			return target{w, w.session, w.timeout}, true
		}
	}
	return target{}, false
}

func (p *pool) kill(w *process) error   { return p.signal(w, killed, (*os.Process).Kill) }
func (p *pool) pause(w *process) error  { return p.signal(w, paused, suspend) }
func (p *pool) resume(w *process) error { return p.signal(w, running, proceed) }

func (p *pool) signal(w *process, state processState, send func(*os.Process) error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	w.state = state
	return send(w.cmd.Process)
}

// counts returns what the pool has counted so far.
func (p *pool) counts() (started, epochs int, refused []refusal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.started, p.epochs, slices.Clone(p.refused)
}
