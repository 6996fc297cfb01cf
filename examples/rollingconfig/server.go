package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/troupe-go/troupe/examples/internal/ground"
	"github.com/troupe-go/troupe/recipes/config"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
)

// fleet is the servers.
type fleet struct {
	news     chan news
	sessions [servers]atomic.Int64

	mu    sync.Mutex
	slots []*lock.Grant // that there were; those that are valid are of servers that are reloading
}

// news is what a server runs with, and whether it has found the present configuration invalid.
type news struct {
	server    int
	rate      int
	complains bool
}

// serve is one server. It reloads when the configuration has changed, until ctx ends.
func (f *fleet) serve(ctx context.Context, g *ground.Ground, number int) error {
	s, err := g.Open(ctx, session.WithTimeout(2*time.Second)) // short, so that one that is partitioned soon loses its slot
	if err != nil {
		return err
	}
	defer ground.Close(s) // and what is made with it
	f.sessions[number].Store(s.Status().SessionID)
	slots, err1 := lock.NewSemaphore(s, slotsPath, atOnce)
	cell, err2 := config.Open(ctx, s, configPath, config.JSON[limits]())
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	rate, complains := 0, false
	for now := range cell.Observe(ctx) {
		if !now.Present || now.Value.Rate == rate && complains == (now.Err != nil) {
			continue
		}
		complains = now.Err != nil // it keeps the last good one then
		if !complains && now.Value.Rate != rate {
			rate = now.Value.Rate
			if err := f.reload(ctx, slots); err != nil {
				return err
			}
		}
		select {
		case f.news <- news{number, rate, complains}:
		case <-ctx.Done():
		}
	}
	return s.Err()
}

// reload holds a slot while it reloads. If the slot is lost with the session, it gets another slot
// and reloads again.
func (f *fleet) reload(ctx context.Context, slots *lock.Lock) error {
	for {
		err := slots.Do(ctx, func(ctx context.Context, slot *lock.Grant) error {
			if n := f.reloading(slot); n > atOnce {
				return fmt.Errorf("%d servers are reloading at once", n)
			}
			select {
			case <-time.After(100 * time.Millisecond): // that long a reload takes
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
		if !errors.Is(err, session.ErrLost) {
			return err
		}
	}
}

// reloading counts the servers that are reloading, with the one that has just got this slot.
func (f *fleet) reloading(slot *lock.Grant) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.slots = append(f.slots, slot)
	for _, s := range f.slots {
		if s.Valid() {
			n++
		}
	}
	return n
}

// await waits until all servers have told this about themselves.
func (f *fleet) await(ctx context.Context, out io.Writer, want news) error {
	for told := map[int]bool{}; len(told) < servers; {
		select {
		case n := <-f.news:
			fmt.Fprintf(out, "  server %d runs with rate %d; the present configuration is invalid: %t\n", n.server, n.rate, n.complains)
			if told[n.server] = true; n != (news{n.server, want.rate, want.complains}) {
				return fmt.Errorf("server %d runs with rate %d", n.server, n.rate)
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
