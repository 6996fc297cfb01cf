package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/troupe-go/troupe/recipes/twopc"
	"github.com/troupe-go/troupe/session"
)

// coordinate makes the transfers, and prints the id of each that was made. It keeps no state:
// ZooKeeper has the unfinished transfers of the previous coordinator, and a transfer that was made
// already changes nothing when it is repeated.
func coordinate(ctx context.Context, s *session.Session) error {
	c, err := twopc.NewCoordinator(s, txPath)
	if err != nil {
		return err
	}
	left, err := c.Recover(ctx)
	if err != nil {
		return err
	}
	for _, tx := range left {
		if err := finish(ctx, tx); err != nil {
			return err
		}
	}
	for _, t := range list() {
		if err := carryOut(ctx, c, t); err != nil {
			return err
		}
	}
	for now := range s.WatchChildren(ctx, txPath+"/tx") {
		if !now.Stale && len(now.Names) == 0 {
			break // both sites have acknowledged every decision
		}
	}
	return context.Cause(ctx)
}

// carryOut makes a transfer, if both sites agree.
func carryOut(ctx context.Context, c *twopc.Coordinator, t transfer) error {
	order, err := json.Marshal(t)
	if err != nil {
		return err
	}
	tx, err := c.Begin(ctx, t.ID, order, north, south)
	for errors.Is(err, twopc.ErrDuplicate) { // a site has not acknowledged a transfer of the previous coordinator
		time.Sleep(50 * time.Millisecond)
		tx, err = c.Begin(ctx, t.ID, order, north, south)
	}
	if tx == nil { // otherwise it may have begun, also with an error
		return err
	}
	return finish(ctx, tx)
}

// finish waits for the decision. It is acknowledged last: if this process is killed before, the
// next one recovers it.
func finish(ctx context.Context, tx *twopc.Tx) error {
	select {
	case <-tx.Done():
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	switch err := tx.Err(); {
	case errors.Is(err, twopc.ErrGone):
		return nil // it did not begin, since the session was lost
	case !errors.Is(err, twopc.ErrDecided):
		return fmt.Errorf("%s: %w", tx.ID(), err)
	case tx.Outcome() == twopc.Committed:
		fmt.Println(tx.ID())
	}
	return tx.Ack(ctx)
}
