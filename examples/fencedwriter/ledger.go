package main

import (
	"sync"

	"github.com/troupe-go/troupe/recipes/fence"
)

// ledger is a resource outside ZooKeeper. In practice it is a service of its own, which is called
// over a network.
type ledger struct {
	mu    sync.Mutex // held over the gate's check and the write
	gate  fence.Gate
	lines []string
}

// write stores a line if the gate admits the sequencer of its writer's grant.
func (l *ledger) write(sequencer, line string) error {
	q, err := fence.Parse(sequencer)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.gate.Admit(q); err != nil {
		return err
	}
	l.lines = append(l.lines, line)
	return nil
}
