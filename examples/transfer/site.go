package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/troupe-go/troupe/examples/internal/ground"
	"github.com/troupe-go/troupe/recipes/twopc"
	"github.com/troupe-go/troupe/session"
)

// site is an account service. It votes on transfers, and carries out the decisions.
func site(ctx context.Context, g *ground.Ground, name, dir string) error {
	b, err := openBook(dir, name)
	if err != nil {
		return err
	}
	defer b.close()                                         //nolint:errcheck // every step is its own transaction
	s, err := g.Open(ctx, session.WithTimeout(time.Second)) // short, so that a killed process is soon known to be dead
	if err != nil {
		return err
	}
	defer ground.Close(s)
	here, err := twopc.NewSite(s, txPath, name)
	if err != nil {
		return err
	}
	defer ground.Close(here)
	var all errgroup.Group
	for {
		select {
		case <-ctx.Done():
			return all.Wait()
		case p, open := <-here.Proposals():
			if !open {
				return errors.Join(here.Err(), all.Wait())
			}
			all.Go(func() error { return handle(ctx, b, p) })
		}
	}
}

// handle handles one transfer at one site: promise, vote, wait for the decision, carry it out,
// acknowledge. After a crash at any point, the transfer is offered again.
func handle(ctx context.Context, b *ledger, p *twopc.Proposal) error {
	t, err := parse(p.ID(), p.Payload())
	if err != nil {
		return err
	}
	if p.Voted() == twopc.Undecided {
		if err := vote(ctx, b, p, t); err != nil {
			return err
		}
	}
	select {
	case <-p.Decided():
	case <-p.Done(): // the site is closed, or the transaction is gone
		select {
		case <-p.Decided():
		default:
			return unlessOver(ctx, p.Err())
		}
	case <-ctx.Done(): // the outcome may be on its way: money is not left set aside for a moment
		select {
		case <-p.Decided():
		case <-time.After(5 * time.Second):
			return nil
		}
	}
	if err := b.settle(t, p.Outcome() == twopc.Committed); err != nil {
		return err
	}
	return unlessOver(ctx, p.Ack(ctx))
}

func vote(ctx context.Context, b *ledger, p *twopc.Proposal, t transfer) error {
	err := b.promise(t)
	switch {
	case err == nil:
		err = p.Commit(ctx)
	case errors.Is(err, errPoor):
		err = p.Abort(ctx, err.Error())
	default:
		return fmt.Errorf("the ledger of %s: %w", b.site, err)
	}
	if errors.Is(err, twopc.ErrDecided) {
		return nil // it was aborted before this site had voted
	}
	return unlessOver(ctx, err)
}

// unlessOver returns nil if the process is to end: the error is then only a consequence of that.
func unlessOver(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // the end is not a failure
	}
	return err
}
