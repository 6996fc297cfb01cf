package main

import (
	"fmt"
	"time"
)

// config is the parsed command line.
type config struct {
	dir     string
	servers string // "": an embedded server
	workers int
	batch   int // files in a batch; 0: chosen by the size of the tree
	timeout time.Duration
	havoc   bool // whether faults are injected
	seed    uint64
}

func (c config) check() error {
	switch {
	case c.workers < 1 || c.workers > 64:
		return fmt.Errorf("-workers %d: not from 1 to 64", c.workers)
	case c.batch < 0:
		return fmt.Errorf("-batch %d: negative", c.batch)
	case c.timeout < 400*time.Millisecond:
		return fmt.Errorf("-session %v: too short for processes that share a machine", c.timeout)
	}
	return nil
}
