package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/troupe-go/troupe/examples/internal/ground"
	"github.com/troupe-go/troupe/recipes/config"
	"github.com/troupe-go/troupe/recipes/lock"
)

const reloading = 100 * time.Millisecond // how long a reload takes

// server is one server.
type server struct {
	number int
	board  *board
	id     atomic.Int64 // the id of its session
}

func (s *server) sessionID() int64 { return s.id.Load() }

// run serves, and reloads when the configuration has changed, until ctx ends.
func (s *server) run(ctx context.Context, g *ground.Ground) error {
	sess, err := g.Open(ctx)
	if err != nil {
		return unlessOver(ctx, err)
	}
	defer ground.Close(sess)
	s.id.Store(sess.Status().SessionID)
	slots, err := lock.NewSemaphore(sess, slotsPath, atOnce, lock.WithData(fmt.Appendf(nil, "server %d", s.number)))
	if err != nil {
		return err
	}
	defer ground.Close(slots)
	cell, err := config.Open(ctx, sess, configPath, config.JSON[limits]())
	if err != nil {
		return unlessOver(ctx, err)
	}
	defer ground.Close(cell)
	if _, err := cell.Await(ctx); err != nil { // the first configuration may be written after this server has started
		return unlessOver(ctx, err)
	}
	rate := 0
	for now := range cell.Observe(ctx) {
		switch {
		case now.Err != nil:
			s.board.complain(s.number, now.Err)
		case now.Present && now.Value.Rate != rate:
			rate = now.Value.Rate
			if err := s.reload(ctx, slots, rate); err != nil {
				return unlessOver(ctx, err)
			}
		}
	}
	return nil
}

// reload holds a slot while it reloads. If the slot is lost with the session, the server gets
// another slot and reloads again.
func (s *server) reload(ctx context.Context, slots *lock.Lock, rate int) error {
	for {
		err := slots.Do(ctx, func(ctx context.Context, _ *lock.Grant) error {
			s.board.begin()
			defer s.board.end()
			select {
			case <-time.After(reloading):
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
		switch {
		case err == nil:
			s.board.runs(s.number, rate)
			return nil
		case ctx.Err() != nil:
			return err
		}
		s.board.say("server %d was interrupted: %v", s.number, err)
	}
}

// unlessOver returns nil if the example is over: the error is then only a consequence of that.
func unlessOver(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // the end is not a failure
	}
	return err
}
