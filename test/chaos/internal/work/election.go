package work

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/session"
)

func init() { loads["election"] = electionLoad }

// electionLoad: each worker is a candidate, by Run or by a standing intent, and observes the
// leader.
func electionLoad(ctx context.Context, e *env) {
	el, err := election.New(e.sess, "/election/line", election.WithName(e.Name))
	if err != nil {
		e.failed("new", err)
		return
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	defer e.release(ctx, "close", el.Close)
	observer, e := e.fork(), e.instance("candidate")
	wg.Go(func() { observer.observeElection(ctx, el) }) // owner: electionLoad; ends when the election is closed
	c := claim{thing: "election/line", party: e.Name}
	for e.busy.Err() == nil {
		if e.rand.IntN(2) == 0 {
			e.runElection(ctx, el, c)
		} else {
			e.campaign(ctx, el, c)
		}
	}
}

var errEnough = errors.New("enough terms")

// runElection leads some terms by Run.
func (e *env) runElection(ctx context.Context, el *election.Election, c claim) {
	terms := 1 + e.rand.IntN(3)
	e.ask(c.thing, c.party)
	err := el.Run(e.busy, func(ctx context.Context, t *election.Term) error {
		e.lead(ctx, el, t, c)
		e.ask(c.thing, c.party)
		if terms--; terms <= 0 {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) && !ended(ctx, err) && e.busy.Err() == nil {
		e.failed("run", err)
	}
}

// campaign leads one term by the standing intent, and resigns.
func (e *env) campaign(ctx context.Context, el *election.Election, c claim) {
	e.ask(c.thing, c.party)
	el.Campaign()
	defer e.release(ctx, "withdraw", el.Withdraw)
	select {
	case t := <-el.Leader():
		e.lead(ctx, el, t, c)
		e.release(ctx, "resign the term", t.Resign)
	case <-el.Done():
		e.failed("election ended", el.Err())
	case <-e.busy.Done():
	}
}

func (e *env) lead(ctx context.Context, el *election.Election, t *election.Term, c claim) {
	e.moved()
	bounded, cancel := context.WithTimeout(ctx, e.Timeout)
	defer cancel()
	if !e.possess(ctx, c, t, e.hold()) {
		return
	}
	switch e.rand.IntN(8) {
	case 0:
		e.check(bounded, "ready", t.Ready(bounded))
	case 1:
		e.check(bounded, "proclaim", t.Proclaim(bounded, []byte(c.party)))
	case 2:
		all, err := el.Candidates(bounded)
		if err == nil && len(all) > 1 {
			err = t.TransferTo(bounded, all[len(all)-1])
		}
		e.check(bounded, "transfer", err)
	default:
		return
	}
	e.possess(ctx, c, t, e.hold())
}

// check takes the error of a call within a possession: a loss and a timeout have to be expected.
func (e *env) check(ctx context.Context, what string, err error) {
	switch {
	case err == nil, ctx.Err() != nil, errors.Is(err, session.ErrLost), errors.Is(err, session.ErrReleased), errors.Is(err, session.ErrClosed),
		errors.Is(err, session.ErrUnknownOutcome), errors.Is(err, session.ErrSuspended), errors.Is(err, session.ErrNoNode):
	default:
		e.failed(what, err)
	}
}

// observeElection checks that an observer never sees an older term after a newer one.
func (e *env) observeElection(ctx context.Context, el *election.Election) {
	newest := int64(0)
	for l := range el.Observe(ctx) {
		if l.Present && l.Token < newest {
			e.failed("observe", fmt.Errorf("token %d after %d", l.Token, newest))
		}
		newest = max(newest, l.Token)
	}
}
