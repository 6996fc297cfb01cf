package election

import (
	"bytes"
	"context"
	"errors"

	"github.com/troupe-go/troupe/session"
)

// Ready tells the observers that the leader has taken over: nobody ahead in line is not yet a
// leader who knows it. It is written to ZooKeeper only while the term stands, else session.ErrLost,
// and nil means that it is there. In the layouts of others: session.ErrUnsupported.
func (t *Term) Ready(ctx context.Context) error {
	return t.amend(ctx, "ready", func(e *envelope) bool {
		if e.Ready {
			return false
		}
		e.Ready = true
		return true
	})
}

// Proclaim replaces the data that observers see, for the rest of this term. It is written to
// ZooKeeper only while the term stands, else session.ErrLost, and nil means that it is there. It
// does not touch what Ready said. Of concurrent calls, the one that ZooKeeper takes last stays. In
// the layouts of others: session.ErrUnsupported.
func (t *Term) Proclaim(ctx context.Context, data []byte) error {
	return t.amend(ctx, "proclaim", func(e *envelope) bool {
		if bytes.Equal(e.Data, data) {
			return false
		}
		e.Data = data
		return true
	})
}

// amend changes the own znode: what is there is read, changed, and written unless somebody wrote in
// between. A write whose reply was lost shows when it is read again: there is nothing left to
// change.
func (t *Term) amend(ctx context.Context, op string, change func(*envelope) bool) error {
	if err := t.election.expressible(); err != nil {
		return failed(op, t.Path(), err)
	}
	for {
		if err := t.over(ctx); err != nil {
			return failed(op, t.Path(), err)
		}
		raw, stat, err := t.election.session.Get(ctx, t.Path())
		if errors.Is(err, session.ErrNoNode) { // the guard finds that too, and ends the term
			if _, err = t.Commit(ctx, session.CheckOp(t.Path(), -1)); err == nil {
				continue
			}
		}
		if err != nil {
			return failed(op, t.Path(), err)
		}
		e, ok := decode(raw)
		if !ok { // somebody wrote over it
			e = envelope{ID: t.election.id, Data: t.election.data}
		}
		if !change(&e) && ok {
			return nil
		}
		if raw, err = e.encode(); err != nil {
			return failed(op, t.Path(), err)
		}
		_, err = t.Commit(ctx, session.SetOp(t.Path(), raw, stat.Version))
		if !errors.Is(err, session.ErrBadVersion) && !errors.Is(err, session.ErrUnknownOutcome) {
			return failed(op, t.Path(), err)
		}
	}
}

// over says why there is no point in going on: the term, or the wait.
func (t *Term) over(ctx context.Context) error {
	if err := t.Err(); err != nil {
		return err
	}
	return context.Cause(ctx)
}
