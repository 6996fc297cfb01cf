package twopc

import (
	"context"
	"errors"
	"slices"

	"github.com/troupe-go/troupe/recipes/twopc/internal/pact"
	"github.com/troupe-go/troupe/session"
)

// Recover takes over the transactions under the path whose coordinator died, in whatever process it was: those undecided, which from now on are this
// coordinator's to decide, with a vote timeout of their own; and those decided whose outcome no coordinator has taken note of yet. Call it when a
// coordinator starts again. Transactions of coordinators that live are left to them. Where it can't be told yet whether one lives, because its session has
// not expired, Recover waits for either sign; ctx bounds that.
//
// If ctx ends or the coordinator closes first, those taken over by then are returned along with the error.
func (c *Coordinator) Recover(ctx context.Context) ([]*Tx, error) {
	const op = "recover"
	if err := c.Err(); err != nil {
		return nil, failed(op, c.path, err)
	}
	if err := c.session.Sync(ctx, c.path); err != nil {
		return nil, failed(op, c.path, err)
	}
	ids, _, err := c.session.Children(ctx, c.root.Transactions())
	if errors.Is(err, session.ErrNoNode) {
		return nil, nil
	}
	if err != nil {
		return nil, failed(op, c.path, err)
	}
	slices.Sort(ids)
	asked := make([]*Tx, 0, len(ids))
	for _, id := range ids {
		t := newTx(c, id, nil)
		t.adopting = true
		c.enter(t)
		asked = append(asked, t)
	}
	var taken []*Tx
	var failure error
	for _, t := range asked {
		switch err := t.await(ctx); {
		case err == nil:
			taken = append(taken, t)
		case errors.Is(err, pact.ErrNobodys):
		case failure == nil:
			failure = failed(op, t.path(), err)
		}
	}
	return taken, failure
}
