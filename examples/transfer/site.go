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

// site is an account service: it votes on transfers, and does what was decided.
func site(ctx context.Context, g *ground.Ground, name, dir string) error {
	b, err := openBook(dir, name)
	if err != nil {
		return err
	}
	defer b.close()                                         //nolint:errcheck // every step is a transaction of its own
	s, err := g.Open(ctx, session.WithTimeout(time.Second)) // who is killed is soon known to be dead
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

// handle is one transfer at one site: promise, vote, learn, carry out, acknowledge. A crash between
// any two of them is made good when it is offered again.
func handle(ctx context.Context, b *book, p *twopc.Proposal) error {
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
	case <-ctx.Done():
		return nil
	}
	if err := b.settle(t, p.Outcome() == twopc.Committed); err != nil {
		return err
	}
	return unlessOver(ctx, p.Ack(ctx))
}

func vote(ctx context.Context, b *book, p *twopc.Proposal, t transfer) error {
	err := b.promise(t)
	switch {
	case err == nil:
		err = p.Commit(ctx)
	case errors.Is(err, errPoor):
		err = p.Abort(ctx, err.Error())
	default:
		return fmt.Errorf("the book of %s: %w", b.site, err)
	}
	if errors.Is(err, twopc.ErrDecided) {
		return nil // it was aborted before this site had voted
	}
	return unlessOver(ctx, err)
}

// unlessOver is nil if the process is to end: then an error says no more than that.
func unlessOver(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // that is what it says
	}
	return err
}
