package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/troupe-go/troupe/recipes/config"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
)

// report is a server's configuration, and whether it has found the present one invalid.
type report struct {
	rate    int
	invalid bool
}

// serve is one server. It reports each change, until ctx ends.
func serve(ctx context.Context, zk string, number int, reports chan<- report) error {
	s, err := session.Open(ctx, []string{zk})
	if err != nil {
		return err
	}
	defer session.CloseWithin(s, 5*time.Second) // and its locks
	slots, err1 := lock.NewSemaphore(s, slotsPath, atOnce)
	cell, err2 := config.Open(ctx, s, configPath, config.JSON[limits]())
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	var last report
	for now := range cell.Observe(ctx) {
		next := report{now.Value.Rate, now.Err != nil} // while it is invalid, Value is the last good one
		if next == last {
			continue
		}
		if next.rate != last.rate {
			if err := reload(ctx, slots); err != nil {
				return err
			}
		}
		last = next
		fmt.Printf("  server %d runs with rate %d; the present configuration is invalid: %t\n", number, next.rate, next.invalid)
		select {
		case reports <- next:
		case <-ctx.Done():
		}
	}
	return s.Err()
}

// reloading is the number of servers that reload. Only the check of this example needs it.
var reloading atomic.Int32

// reload holds a slot while it reloads. If the slot is lost with the session, it gets another slot
// and reloads again.
func reload(ctx context.Context, slots *lock.Lock) error {
	for {
		err := slots.Do(ctx, func(ctx context.Context, _ *lock.Grant) error {
			defer reloading.Add(-1)
			if n := reloading.Add(1); n > atOnce {
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
