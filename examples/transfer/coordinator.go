package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/troupe-go/troupe/recipes/twopc"
	"github.com/troupe-go/troupe/session"
)

// coordinate makes the transfers with these ids, six at a time, and prints "ID OUTCOME" for each.
// It keeps no state: what the previous coordinator has left unfinished is in ZooKeeper.
func coordinate(ctx context.Context, s *session.Session, ids []string) error {
	c, err := twopc.NewCoordinator(s, txPath, twopc.WithVoteTimeout(20*time.Second))
	if err != nil {
		return err
	}
	left, err := c.Recover(ctx)
	if err != nil {
		return err
	}
	for _, tx := range left {
		final, err := await(ctx, tx)
		if err != nil {
			return err
		}
		if final {
			ids = slices.DeleteFunc(ids, func(id string) bool { return id == tx.ID() })
		}
	}
	all, running := errgroup.WithContext(ctx)
	all.SetLimit(6)
	for _, t := range list() {
		if slices.Contains(ids, t.ID) {
			all.Go(func() error { return carryOut(running, c, t) })
		}
	}
	return all.Wait()
}

// carryOut makes a transfer, and repeats it if it was aborted because a process had died.
func carryOut(ctx context.Context, c *twopc.Coordinator, t transfer) error {
	order, err := json.Marshal(t)
	if err != nil {
		return err
	}
	for {
		tx, err := c.Begin(ctx, t.ID, order, t.From, t.To)
		switch {
		case tx != nil: // also with an error: it is not known whether it has begun
			if final, err := await(ctx, tx); err != nil || final {
				return err
			}
		case !errors.Is(err, twopc.ErrDuplicate): // duplicate: a site has not acknowledged the last attempt yet
			return err
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// await waits for the decision. The decision is final if the transfer was made or a site refused
// it. It is acknowledged last: if this process is killed before, the next one recovers it.
func await(ctx context.Context, tx *twopc.Tx) (final bool, err error) {
	select {
	case <-tx.Done():
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	switch err := tx.Err(); {
	case errors.Is(err, twopc.ErrGone) && errors.Is(err, session.ErrUnknownOutcome):
		return false, nil // only another coordinator could have acknowledged it; there is none, so it has not begun
	case !errors.Is(err, twopc.ErrDecided):
		return false, fmt.Errorf("%s: %w", tx.ID(), err)
	}
	final = tx.Outcome() == twopc.Committed || strings.Contains(tx.Reason(), errPoor.Error())
	if final {
		fmt.Println(tx.ID(), tx.Outcome())
	}
	return final, tx.Ack(ctx)
}
