package main

import (
	"context"
	"fmt"
	"io"
	"sync"
)

// board records and prints the state of the servers.
type board struct {
	mu         sync.Mutex
	out        io.Writer
	rates      [servers]int
	complaints map[int]bool
	reloading  int
	most       int
	changed    chan struct{} // closed at the next change
}

func newBoard(out io.Writer) *board {
	return &board{out: out, complaints: map[int]bool{}, changed: make(chan struct{})}
}

// change changes the board, and wakes those that wait for a change.
func (b *board) change(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f()
	close(b.changed)
	b.changed = make(chan struct{})
}

func (b *board) say(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	fmt.Fprintf(b.out, format+"\n", args...)
}

func (b *board) begin() {
	b.change(func() {
		b.reloading++
		b.most = max(b.most, b.reloading)
	})
}

func (b *board) end() { b.change(func() { b.reloading-- }) }

func (b *board) runs(server, rate int) {
	b.change(func() {
		b.rates[server] = rate
		fmt.Fprintf(b.out, "  server %d runs with rate %d\n", server, rate)
	})
}

func (b *board) complain(server int, err error) {
	b.change(func() {
		if !b.complaints[server] {
			fmt.Fprintf(b.out, "  server %d keeps its configuration: %v\n", server, err)
		}
		b.complaints[server] = true
	})
}

func (b *board) mostAtOnce() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.most
}

// await waits until every server runs with the rate.
func (b *board) await(ctx context.Context, rate int) error {
	return b.until(ctx, func() bool {
		for _, r := range b.rates {
			if r != rate {
				return false
			}
		}
		return true
	})
}

// awaitComplaints waits until every server has rejected the configuration.
func (b *board) awaitComplaints(ctx context.Context) error {
	return b.until(ctx, func() bool { return len(b.complaints) == servers })
}

func (b *board) until(ctx context.Context, is func() bool) error {
	for {
		b.mu.Lock()
		done, changed := is(), b.changed
		b.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
