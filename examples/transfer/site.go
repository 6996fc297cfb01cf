package main

import (
	"context"
	"encoding/json"
	"errors"

	"golang.org/x/sync/errgroup"

	"github.com/troupe-go/troupe/recipes/twopc"
	"github.com/troupe-go/troupe/session"
)

// serve is an account service. It votes on transfers, and carries out the decisions, until ctx
// ends.
func serve(ctx context.Context, s *session.Session, name, dir string) error {
	l, err := openLedger(dir, name)
	if err != nil {
		return err
	}
	site, err := twopc.NewSite(s, txPath, name)
	if err != nil {
		return err
	}
	all, ctx := errgroup.WithContext(ctx)
	context.AfterFunc(ctx, func() { _ = site.Close(ctx) }) // no proposal is offered any more, and no wait goes on
	for p := range site.Proposals() {
		all.Go(func() error { return handle(ctx, l, p) })
	}
	return errors.Join(all.Wait(), site.Err())
}

// handle handles one transfer at one site: promise, vote, wait for the decision, carry it out,
// acknowledge. After a crash at any point, the transfer is offered again.
func handle(ctx context.Context, l *ledger, p *twopc.Proposal) error {
	var t transfer
	if err := json.Unmarshal(p.Payload(), &t); err != nil {
		return err
	}
	if p.Voted() == twopc.Undecided {
		err := l.promise(t)
		switch {
		case err == nil:
			err = p.VoteCommit(ctx)
		case errors.Is(err, errPoor):
			err = p.VoteAbort(ctx, err.Error())
		}
		if err != nil && !errors.Is(err, twopc.ErrDecided) { // decided: it was aborted before this site had voted
			return err
		}
	}
	select {
	case <-p.Decided():
	case <-p.Done():
		return p.Err()
	}
	if err := l.settle(t, p.Outcome() == twopc.Committed); err != nil {
		return err
	}
	return p.Ack(ctx)
}
