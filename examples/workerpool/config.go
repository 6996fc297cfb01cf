package main

import (
	"fmt"
	"time"
)

// config is what the command line says.
type config struct {
	dir     string
	servers string // "": an embedded one
	workers int
	batch   int // files in a batch; 0: by the size of the tree
	timeout time.Duration
	havoc   bool // whether there is chaos
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
