package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/troupe-go/troupe/examples/internal/ground"
)

// pool is the worker processes, one per slot.
type pool struct {
	ground *ground.Ground
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

// member is one worker process. Its name is w<slot>.<number of the process>.
type member struct {
	*ground.Process
	session int64     // its present one; 0: none yet
	away    time.Time // until when it is paused or partitioned
}

// launch puts a new process into a slot.
func (p *pool) launch(ctx context.Context, slot int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.started++
	m := &member{}
	var err error
	m.Process, err = p.ground.Launch(ctx, fmt.Sprintf("w%d.%d", slot+1, p.started), func(line string) { p.heard(m, line) }, p.dir)
	p.workers[slot] = m
	return err
}

// heard records what a worker prints. Nothing is coordinated with that.
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
		case <-m.Ended():
			return fmt.Errorf("%s ended unexpectedly: %w", m.Name, m.Err())
		default:
		}
	}
	return nil
}

// stop lets all workers end.
func (p *pool) stop() error {
	var errs []error
	for _, m := range p.workers {
		errs = append(errs, m.Stop())
	}
	return errors.Join(errs...)
}

// fault is what is done, and to whom.
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
func possible(g *ground.Ground) []fault {
	blows := []string{kill}
	if ground.CanPause {
		blows = append(blows, pause)
	}
	if g.Embedded != nil {
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
		m.Kill()
		return m.Name, p.launch(ctx, slot)
	case pause:
		m.Pause()
		time.AfterFunc(away, m.Resume)
	case partition:
		time.AfterFunc(away, p.ground.Embedded.Partition(session))
	}
	m.away = time.Now().Add(away)
	return m.Name, nil
}

// choose chooses a worker that has a session and is neither paused nor partitioned.
func (p *pool) choose(victim, leader string) (slot int, session int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, slot := range rand.Perm(len(p.workers)) {
		m := p.workers[slot]
		if m.session != 0 && time.Now().After(m.away) && (m.Name == leader) == (victim == theCoordinator) {
			return slot, m.session
		}
	}
	return -1, 0
}
