package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.etcd.io/bbolt"
	"golang.org/x/sync/errgroup"

	"github.com/troupe-go/troupe/examples/internal/ground"
	"github.com/troupe-go/troupe/recipes/twopc"
	"github.com/troupe-go/troupe/session"
)

const atOnce = 6 // transfers under way

var decisions = []byte("decisions")

// coordinator makes transfers, and records which were made.
type coordinator struct {
	twopc *twopc.Coordinator
	db    *bbolt.DB
}

// coordinate makes all transfers that are not made yet. For each it prints "decided ID OUTCOME".
func coordinate(ctx context.Context, g *ground.Ground, dir string, n int) error {
	db, err := bbolt.Open(filepath.Join(dir, "coordinator.db"), 0o600, &bbolt.Options{Timeout: 5 * time.Second})
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // every step is its own transaction
	if err := db.Update(func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucketIfNotExists(decisions)
		return err
	}); err != nil {
		return err
	}
	s, err := g.Open(ctx, session.WithTimeout(time.Second)) // short, so that a killed process is soon known to be dead
	if err != nil {
		return err
	}
	defer ground.Close(s)
	c := coordinator{db: db}
	if c.twopc, err = twopc.NewCoordinator(s, txPath, twopc.WithVoteTimeout(20*time.Second)); err != nil {
		return err
	}
	defer ground.Close(c.twopc)

	left, err := c.twopc.Recover(ctx) // what the previous process left
	if err != nil {
		return unlessOver(ctx, err)
	}
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(atOnce)
	transfers := list(n)
	for _, tx := range left {
		all.Go(func() error {
			final, err := c.await(ctx, tx)
			if err != nil || final {
				return err
			}
			return c.transfer(ctx, transfers[slices.IndexFunc(transfers, func(t transfer) bool { return t.ID == tx.ID() })])
		})
	}
	for _, t := range transfers {
		if !c.knows(t.ID) && !slices.ContainsFunc(left, func(tx *twopc.Tx) bool { return tx.ID() == t.ID }) {
			all.Go(func() error { return c.transfer(ctx, t) })
		}
	}
	return unlessOver(ctx, all.Wait())
}

// transfer makes a transfer, and repeats it if it was aborted because a process had died.
func (c *coordinator) transfer(ctx context.Context, t transfer) error {
	for {
		tx, err := c.twopc.Begin(ctx, t.ID, t.payload(), t.From, t.To)
		final := false
		switch {
		case tx != nil: // also if it is not known whether it has begun
			final, err = c.await(ctx, tx)
		case errors.Is(err, twopc.ErrDuplicate): // a site has not acknowledged the last attempt yet
			err = nil
		}
		if err != nil || final {
			return err
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// await waits for the decision. The decision is final, and is recorded, if the transfer was made or
// a site refused it. Then await acknowledges it. If this process is killed before that, the next
// one recovers the transfer and does not repeat it.
func (c *coordinator) await(ctx context.Context, tx *twopc.Tx) (final bool, err error) {
	select {
	case <-tx.Done():
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	if errors.Is(tx.Err(), twopc.ErrGone) && errors.Is(tx.Err(), session.ErrUnknownOutcome) {
		return false, nil // only another coordinator could have acknowledged it; there is none, so it has not begun
	}
	if !errors.Is(tx.Err(), twopc.ErrDecided) {
		return false, fmt.Errorf("%s: %w", tx.ID(), tx.Err())
	}
	if tx.Outcome() == twopc.Aborted && !strings.Contains(tx.Reason(), errPoor.Error()) {
		return false, tx.Ack(ctx)
	}
	if err := c.db.Update(func(t *bbolt.Tx) error {
		return t.Bucket(decisions).Put([]byte(tx.ID()), []byte(tx.Outcome().String()))
	}); err != nil {
		return false, err
	}
	if _, err := fmt.Fprintf(os.Stdout, "decided %s %s\n", tx.ID(), tx.Outcome()); err != nil {
		return true, err
	}
	return true, tx.Ack(ctx)
}

// knows reports whether the decision on a transfer is recorded.
func (c *coordinator) knows(id string) bool {
	known := false
	_ = c.db.View(func(tx *bbolt.Tx) error {
		known = tx.Bucket(decisions).Get([]byte(id)) != nil
		return nil
	})
	return known
}
