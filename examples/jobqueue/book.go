package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
)

// book is what the reader of the story keeps: what was done, and how often.
type book struct {
	mu         sync.Mutex
	out        io.Writer
	times      map[string]int
	deliveries int
	finished   chan struct{} // closes when all is done that can be
}

func newBook(out io.Writer) *book {
	return &book{out: out, times: make(map[string]int), finished: make(chan struct{})}
}

func (b *book) note(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	fmt.Fprintf(b.out, format+"\n", args...)
}

func (b *book) deliver() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.deliveries++
}

func (b *book) delivered() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.deliveries
}

// done notes that a job was acknowledged.
func (b *book) done(job string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.times[job]++
	if len(b.times) == expected && b.times[job] == 1 {
		close(b.finished)
	}
}

// check says what was done more than once.
func (b *book) check() error {
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
