package election

import (
	"bytes"
	"context"
	"errors"

	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/session"
)

// Ready tells the observers that the leader has finished taking over: the first candidate in the
// queue may not know yet that it leads. It is written to ZooKeeper only while the term is valid,
// otherwise the error is session.ErrLost; nil means that it is written. In the layouts of other
// libraries: session.ErrUnsupported.
func (t *Term) Ready(ctx context.Context) error {
	return t.amend(ctx, "ready", func(e *envelope) bool {
		if e.Ready {
			return false
		}
		e.Ready = true
		return true
	})
}

// Proclaim replaces the data that observers see, for the rest of this term. They are written to
// ZooKeeper only while the term is valid, otherwise the error is session.ErrLost; nil means that
// they are written. Proclaim does not change the state of Ready. Of concurrent calls, the last one
// that ZooKeeper carries out wins. In the layouts of other libraries: session.ErrUnsupported.
func (t *Term) Proclaim(ctx context.Context, data []byte) error {
	return t.amend(ctx, "proclaim", func(e *envelope) bool {
		if bytes.Equal(e.Data, data) {
			return false
		}
		e.Data = data
		return true
	})
}

// amend changes the candidate's znode by read, change and compare-and-set. If the reply to the
// write was lost, the next read shows its outcome: if it was carried out, there is nothing left to
// change.
func (t *Term) amend(ctx context.Context, op string, change func(*envelope) bool) error {
	if err := t.election.expressible(); err != nil {
		return recipe.Failed(t.election.session, op, t.Path(), err)
	}
	for {
		if err := t.over(ctx); err != nil {
			return recipe.Failed(t.election.session, op, t.Path(), err)
		}
		raw, stat, err := t.election.session.Get(ctx, t.Path())
		if errors.Is(err, session.ErrNoNode) { // the check in Commit finds that too, and ends the term
			if _, err = t.Commit(ctx, session.CheckOp(t.Path(), -1)); err == nil {
				continue
			}
		}
		if err != nil {
			return recipe.Failed(t.election.session, op, t.Path(), err)
		}
		e, ok := decode(raw)
		if !ok { // another client has overwritten it
			e = envelope{ID: t.election.id, Data: t.election.data, By: t.election.by}
		}
		if !change(&e) && ok {
			return nil
		}
		if raw, err = e.encode(); err != nil {
			return recipe.Failed(t.election.session, op, t.Path(), err)
		}
		_, err = t.Commit(ctx, session.SetOp(t.Path(), raw, stat.Version))
		if !errors.Is(err, session.ErrBadVersion) && !errors.Is(err, session.ErrUnknownOutcome) {
			return recipe.Failed(t.election.session, op, t.Path(), err)
		}
	}
}

// over is why amend should not go on: the term, or the wait, has ended.
func (t *Term) over(ctx context.Context) error {
	if err := t.Err(); err != nil {
		return err
	}
	return context.Cause(ctx)
}
