package work

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/troupe-go/troupe/recipes/twopc"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/test/chaos/internal/history"
)

func init() { loads["twopc"] = twopcLoad }

// twopcLoad: each worker is a coordinator, and a site.
func twopcLoad(ctx context.Context, e *env) {
	var wg sync.WaitGroup
	defer wg.Wait()
	site, err := twopc.NewSite(e.sess, "/twopc/all", siteName(e.Index))
	if err != nil {
		e.failed("new site", err)
		return
	}
	options := []twopc.Option{twopc.WithVoteTimeout(e.Timeout)}
	if e.Index%2 == 1 {
		options = append(options, twopc.WithPeerDecision())
	}
	coordinator, err := twopc.NewCoordinator(e.sess, "/twopc/all", options...)
	if err != nil {
		e.failed("new coordinator", err)
		return
	}
	s, c := e.fork(), e.fork()
	wg.Go(func() { // owner: twopcLoad; ends with ctx
		defer s.release(ctx, "close the site", site.Close)
		s.vote(ctx, site)
	})
	wg.Go(func() { // owner: twopcLoad; ends with ctx
		defer c.release(ctx, "close the coordinator", coordinator.Close)
		c.coordinate(ctx, coordinator)
	})
}

func siteName(i int) string { return fmt.Sprintf("site%d", i) }

// coordinate begins transactions, and takes over those of coordinators that died.
func (e *env) coordinate(ctx context.Context, c *twopc.Coordinator) {
	var wg sync.WaitGroup // of transactions that are not concluded
	defer wg.Wait()
	for n := 0; ctx.Err() == nil; n++ {
		if n%20 == 0 || e.busy.Err() != nil {
			e.recover(ctx, c, &wg)
		}
		if e.busy.Err() != nil { // nothing new is begun, but what others leave is taken over until the end
			if !pause(ctx, e.Timeout/4) {
				return
			}
			continue
		}
		id := fmt.Sprintf("%s-%d", e.Name, n)
		var sites []string
		for _, i := range e.rand.Perm(e.Workers)[:min(e.Workers, 2+e.rand.IntN(2))] {
			sites = append(sites, siteName(i))
		}
		bounded, cancel := context.WithTimeout(ctx, 3*e.Timeout)
		tx, err := c.Begin(bounded, id, []byte(id), sites...)
		if err != nil {
			e.checkBegin(bounded, err)
		}
		if tx != nil { // even if its begin has an unknown outcome
			e.conclusion(ctx, &wg, tx)
		}
		cancel()
		pause(e.busy, e.span(200*time.Millisecond))
	}
}

func (e *env) checkBegin(ctx context.Context, err error) {
	if ctx.Err() == nil && !errors.Is(err, session.ErrClosed) && !errors.Is(err, session.ErrUnknownOutcome) {
		e.failed("begin", err)
	}
}

// conclusion waits for a transaction's outcome for a while; then it goes on beside others.
func (e *env) conclusion(ctx context.Context, wg *sync.WaitGroup, tx *twopc.Tx) {
	f := e.fork()
	done := make(chan struct{})
	wg.Go(func() { // owner: coordinate; ends with the transaction or with ctx
		defer close(done)
		f.conclude(ctx, tx)
	})
	select {
	case <-done:
	case <-time.After(e.span(2 * time.Second)):
	case <-ctx.Done():
	}
}

// conclude waits for a transaction's outcome.
func (e *env) conclude(ctx context.Context, tx *twopc.Tx) {
	select {
	case <-tx.Done():
	case <-ctx.Done():
		return
	}
	if !errors.Is(tx.Err(), twopc.ErrDecided) {
		if !errors.Is(tx.Err(), session.ErrClosed) && !errors.Is(tx.Err(), twopc.ErrGone) { // gone: another coordinator has acknowledged it
			e.failed("transaction "+tx.ID(), tx.Err())
		}
		return
	}
	e.moved()
	e.Write(history.Event{Kind: history.Outcome, Work: e.work, Thing: tx.ID(), Party: "coordinator " + e.Name, Value: tx.Outcome().String()})
	if err := tx.Ack(ctx); err != nil {
		e.check(ctx, "acknowledge", err)
	}
}

// recover takes over transactions of coordinators that died.
func (e *env) recover(ctx context.Context, c *twopc.Coordinator, wg *sync.WaitGroup) {
	bounded, cancel := context.WithTimeout(ctx, 2*e.Timeout)
	defer cancel()
	all, err := c.Recover(bounded)
	if err != nil && bounded.Err() == nil {
		e.check(bounded, "recover", err)
	}
	for _, tx := range all {
		e.conclusion(ctx, wg, tx)
	}
}

// vote takes part until the end.
func (e *env) vote(ctx context.Context, site *twopc.Site) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		select {
		case p, ok := <-site.Proposals():
			if !ok {
				if !errors.Is(site.Err(), session.ErrClosed) {
					e.failed("site", site.Err())
				}
				return
			}
			f := e.fork()
			wg.Go(func() { f.participate(ctx, p) }) // owner: vote; ends with the proposal or with ctx
		case <-ctx.Done():
			return
		}
	}
}

// participate votes on a proposal, unless an earlier process of this site has, and acknowledges its
// outcome.
func (e *env) participate(ctx context.Context, p *twopc.Proposal) {
	party, came := siteName(e.Index), history.Now()
	pause(ctx, e.span(50*time.Millisecond))
	if p.Voted() == twopc.Undecided {
		vote, cast := "commit", p.VoteCommit
		if e.rand.IntN(8) == 0 {
			vote, cast = "abort", func(ctx context.Context) error { return p.VoteAbort(ctx, "chance") }
		}
		err := cast(ctx)
		if err == nil {
			e.Write(history.Event{Kind: history.Outcome, Work: e.work, Thing: p.ID(), Party: party, Mode: history.Vote, Value: vote})
		} else if !errors.Is(err, twopc.ErrDecided) && !errors.Is(err, twopc.ErrGone) {
			e.check(ctx, "vote", err)
		}
	}
	select {
	case <-p.Decided():
	case <-p.Done():
	case <-ctx.Done():
		return
	}
	if p.Outcome() != twopc.Undecided {
		e.Write(history.Event{Kind: history.Outcome, Work: e.work, Thing: p.ID(), Party: party, From: came, Value: p.Outcome().String()})
		e.moved()
	}
	err := p.Ack(ctx)
	switch {
	case err == nil:
		e.Write(history.Event{Kind: history.Outcome, Work: e.work, Thing: p.ID(), Party: party, Mode: history.Confirmed, Value: p.Outcome().String()})
	case !errors.Is(err, twopc.ErrGone):
		e.check(ctx, "ack", err)
	}
}
