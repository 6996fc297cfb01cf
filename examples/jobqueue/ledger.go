package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
)

// ledger records which jobs were done, and how often.
type ledger struct {
	mu         sync.Mutex
	out        io.Writer
	times      map[string]int
	deliveries int
	buried     bool          // the job that always fails has failed for the last time
	finished   chan struct{} // closed when that is so, and every job that can be done is done
}

func newLedger(out io.Writer) *ledger {
	return &ledger{out: out, times: make(map[string]int), finished: make(chan struct{})}
}

func (b *ledger) note(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	fmt.Fprintf(b.out, format+"\n", args...)
}

func (b *ledger) deliver() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.deliveries++
}

func (b *ledger) delivered() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.deliveries
}

// done records that a job was acknowledged.
func (b *ledger) done(job string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.times[job]++
	if b.times[job] == 1 {
		b.finish()
	}
}

// bury records that the job that always fails has failed for the last time.
func (b *ledger) bury() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.buried {
		b.buried = true
		b.finish()
	}
}

func (b *ledger) finish() {
	if b.buried && len(b.times) == expected {
		close(b.finished)
	}
}

// check returns an error if a job was done more than once.
func (b *ledger) check() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var wrong []string
	for job, times := range b.times {
		if times != 1 || job == hopeless {
			wrong = append(wrong, fmt.Sprintf("%q was done %d times", job, times))
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%s", strings.Join(wrong, ", "))
	}
	return nil
}
