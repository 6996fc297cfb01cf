package recipe

import (
	"context"
	"errors"
	"fmt"

	"github.com/troupe-go/troupe/internal/seam"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/session"
)

// Downgrade ends a writer's possession and returns a reader's at the same position in the queue,
// under the same token. In between no other writer can be granted, and no reader before the
// writer's hold has ended. If ctx has ended already nothing changes. If it ends later, or the
// downgrade fails, there is neither possession: what is left is deleted until the epoch ends.
func (i *Claims[P]) Downgrade(ctx context.Context, p *Possession) (none P, err error) {
	if err = context.Cause(ctx); err != nil {
		return none, err
	}
	ctx, cancel := confirmationContext(ctx, i.core.cfg.Session, i.core.cfg.Path)
	defer cancel()
	reader := &caller{outcome: make(chan outcome, 1)}
	if err = i.endWriter(p, reader); err != nil {
		return none, err
	}
	i.core.host.ref.Tell(downgradeWanted{p})
	select {
	case o := <-reader.outcome:
		return i.readerResult(o)
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-i.Done():
		err = i.Err()
	}
	if !reader.abandon() {
		return i.readerResult(<-reader.outcome)
	}
	return none, err
}

// endWriter ends the writer's hold, and records the caller that it is ended for. There is one: a
// second call fails.
func (i *Claims[P]) endWriter(p *Possession, reader *caller) error {
	i.core.ledger.mu.Lock()
	first := p.downgrade == nil
	if first {
		p.downgrade = reader
	}
	i.core.ledger.mu.Unlock()
	switch {
	case !first:
		return asLost(session.ErrReleased)
	case i.core.host.End(p.Hold, session.ErrReleased):
		return nil
	}
	return asLost(p.Err())
}

// asLost is the end of a possession as the error of a caller that wants to go on with it: to that
// caller a released possession is lost as well.
func asLost(err error) error {
	if errors.Is(err, session.ErrLost) {
		return err
	}
	return fmt.Errorf("%w: %w", session.ErrLost, err)
}

func (i *Claims[P]) readerResult(o outcome) (won P, err error) {
	if o.err != nil {
		return won, asLost(o.err)
	}
	o.won.received.Store(true)
	return i.core.face(o.won).(P), nil
}

// failDowngrade tells the caller of Downgrade that p was ended for, if any, that it failed.
func (l *ledger) failDowngrade(p *Possession, cause error) {
	l.mu.Lock()
	reader := p.downgrade
	l.mu.Unlock()
	reader.reply(outcome{err: cause})
}

// downgrading returns the intent's possession, and whether it was ended for a reader's.
func (l *ledger) downgrading(in *intent) (*Possession, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return in.held, in.held != nil && in.held.downgrade != nil
}

func (g *grants) onDowngradeWanted(p *Possession) {
	in := g.holder(p)
	switch {
	case in == nil: // its znode was deleted, or its epoch ended, before this message came
		g.ledger.failDowngrade(p, session.ErrDeleted)
	case g.withdrawn(in):
		g.ledger.failDowngrade(p, session.ErrReleased) // the message about the withdrawal follows, and deletes the znode
	default:
		g.actor.step(machine.DowngradeWanted{Claim: in.id})
	}
}

// downgrade replaces a writer's znode by a reader's.
func (g *grants) downgrade(e machine.Downgrade) {
	parent, name := znode.Split(e.Path)
	c, _ := znode.ParseContender(name)
	reader, ok := c.Downgraded(znode.NewGUID())
	if !ok {
		g.actor.answer(nil, machine.Downgraded{Epoch: e.Epoch, Path: e.Path, Err: session.ErrUnsupported})
		return
	}
	done := machine.Downgraded{Epoch: e.Epoch, Path: e.Path, New: znode.Join(parent, reader)}
	g.actor.exchange(done, znode.Notes{Placed: e.Token}.Write(g.core.cfg.Data))
}

// exchange sends the transaction of a downgrade again until its outcome is known.
func (a *actor) exchange(done machine.Downgraded, data []byte) {
	ops := []session.Op{session.DeleteOp(done.Path, -1), session.CreateOp(done.New, data, session.Ephemeral())}
	a.host.client.Commit(done.Epoch, ops, func(_ []session.Result, err error) {
		switch {
		case errors.Is(err, session.ErrExpired), errors.Is(err, session.ErrClosed): // its outcome may be unknown too, which does not matter any more
			done.Err = err
		case errors.Is(err, session.ErrUnknownOutcome): // the reader's znode tells
			a.host.client.Read(done.Epoch, done.New, false, func(s seam.Seen) {
				switch {
				case errors.Is(s.Err, session.ErrExpired), errors.Is(s.Err, session.ErrClosed):
					a.answer(s.Err, done) // the epoch has ended
				case s.Exists, s.Err != nil: // a znode that may not be read exists
					a.answer(nil, done)
				default:
					a.afterwards(func() { a.exchange(done, data) })
				}
			})
			return
		case errors.Is(err, session.ErrNoNode): // the writer's
			done.Gone = true
		default: // nil: it is done
			done.Err = err
		}
		a.answer(done.Err, done)
	})
}

// onDowngraded records that the writer's znode is gone, or fails the downgrade that failed.
func (g *grants) onDowngraded(ev machine.Downgraded) {
	g.ledger.mu.Lock()
	p := g.ledger.granted[ev.Path]
	g.ledger.mu.Unlock()
	switch {
	case p == nil:
	case ev.Gone:
		g.ledger.failDowngrade(p, session.ErrDeleted)
	case ev.Err != nil:
		g.ledger.failDowngrade(p, ev.Err)
	default:
		g.gone(ev.Path)
	}
}

// grantReader makes the reader's possession, for the caller of Downgrade. If the session is not
// trusted, or the caller has given up, there is none.
func (g *grants) grantReader(in *intent, writer *Possession, e machine.Grant) {
	reader, err := g.possession(in, nil, e)
	if err != nil {
		g.ledger.failDowngrade(writer, err)
		g.holdEnded(in)
		return
	}
	reader.received.Store(true)
	switch {
	case g.withdrawn(in):
		g.host.client.End(reader.Hold, session.ErrReleased) // the message about the withdrawal follows, and frees the znode
		g.ledger.failDowngrade(writer, session.ErrReleased)
	case !writer.downgrade.reply(outcome{won: reader}):
		reader.GiveUp()
	}
}
