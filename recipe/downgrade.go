package recipe

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/troupe-go/troupe/internal/seam"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/session"
)

// downgrade is a caller of Downgrade who waits for his possession as a reader.
type downgrade struct {
	answered atomic.Bool
	answer   chan downgradeResult // capacity 1
}

type downgradeResult struct {
	won *Possession
	err error
}

func (x *downgrade) reply(e downgradeResult) bool {
	if x == nil || x.answered.Swap(true) {
		return false
	}
	x.answer <- e
	return true
}

// Downgrade ends a writer's possession and returns a reader's in its place in line, under the same
// token. In between nobody else can be granted as a writer, and nobody at all before the writer's
// hold has ended. If ctx ends first, or it cannot be done, both are over: what is left in ZooKeeper
// is deleted in the background until the epoch ends.
func (i *Claims[P]) Downgrade(ctx context.Context, p *Possession) (none P, err error) {
	if err = context.Cause(ctx); err != nil {
		return none, err
	}
	ctx, cancel := outlasting(ctx, i.claims.cfg.Session, i.claims.cfg.Path)
	defer cancel()
	x := &downgrade{answer: make(chan downgradeResult, 1)}
	if err = i.begin(p, x); err != nil {
		return none, err
	}
	i.claims.host.ref.Tell(downgradeWanted{p})
	select {
	case e := <-x.answer:
		return i.readers(e)
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-i.Done():
		err = i.Err()
	}
	if x.answered.Swap(true) {
		return i.readers(<-x.answer)
	}
	return none, err
}

// begin ends the writer's hold, with a note of what for. The first who asks has it.
func (i *Claims[P]) begin(p *Possession, x *downgrade) error {
	i.claims.ledger.mu.Lock()
	first := p.downgrade == nil
	if first {
		p.downgrade = x
	}
	i.claims.ledger.mu.Unlock()
	switch {
	case !first:
		return asLost(session.ErrReleased)
	case i.claims.host.End(p.Hold, session.ErrReleased):
		return nil
	}
	return asLost(p.Err())
}

// asLost makes the end of a possession the error of one who wants to go on with it: to him, one
// that was released is lost as well.
func asLost(err error) error {
	if errors.Is(err, session.ErrLost) {
		return err
	}
	return fmt.Errorf("%w: %w", session.ErrLost, err)
}

func (i *Claims[P]) readers(e downgradeResult) (won P, err error) {
	if e.err != nil {
		return won, asLost(e.err)
	}
	e.won.received.Store(true)
	return i.claims.face(e.won).(P), nil
}

// failDowngrade: nothing comes of the downgrade that p waits for, if it does.
func (l *ledger) failDowngrade(p *Possession, cause error) {
	l.mu.Lock()
	x := p.downgrade
	l.mu.Unlock()
	x.reply(downgradeResult{err: cause})
}

// downgrading tells whether the claim's possession was ended for a reader's.
func (l *ledger) downgrading(c *claim) (*Possession, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return c.held, c.held != nil && c.held.downgrade != nil
}

func (g *grants) onDowngradeWanted(p *Possession) {
	c := g.holder(p)
	switch {
	case c == nil: // its znode was deleted, or its epoch ended, before this was heard of
		g.ledger.failDowngrade(p, session.ErrDeleted)
	case g.withdrawn(c):
		g.ledger.failDowngrade(p, session.ErrReleased) // word of that is on its way, and deletes the znode
	default:
		g.actor.step(machine.DowngradeWanted{Claim: c.id})
	}
}

// downgrade puts a reader's znode into the place of a writer's.
func (g *grants) downgrade(e machine.Downgrade) {
	parent, name := znode.Split(e.Path)
	c, _ := znode.ParseContender(name)
	reader, ok := c.Downgraded(znode.NewGUID())
	if !ok {
		g.actor.answer(nil, machine.Downgraded{Epoch: e.Epoch, Path: e.Path, Err: session.ErrUnsupported})
		return
	}
	done := machine.Downgraded{Epoch: e.Epoch, Path: e.Path, New: znode.Join(parent, reader)}
	g.entrant.exchange(done, znode.Notes{Placed: e.Token}.Write(g.claims.cfg.Data))
}

// exchange asks until the outcome is known.
func (c *entrant) exchange(done machine.Downgraded, data []byte) {
	ops := []session.Op{session.DeleteOp(done.Path, -1), session.CreateOp(done.New, data, session.Ephemeral())}
	c.host.client.Commit(done.Epoch, ops, func(_ []session.Result, err error) {
		switch {
		case errors.Is(err, session.ErrExpired), errors.Is(err, session.ErrClosed):
			done.Err = err
		case errors.Is(err, session.ErrUnknownOutcome):
			c.host.client.Read(done.Epoch, done.New, false, func(a seam.Seen) {
				switch {
				case errors.Is(a.Err, session.ErrExpired), errors.Is(a.Err, session.ErrClosed):
					c.actor.answer(a.Err, done) // the epoch is over
				case a.Exists, a.Err != nil: // what may not be read is there
					c.actor.answer(nil, done)
				default:
					c.actor.afterwards(func() { c.exchange(done, data) })
				}
			})
			return
		case errors.Is(err, session.ErrNoNode):
			done.Gone = true
		default:
			done.Err = err
		}
		c.actor.answer(done.Err, done)
	})
}

// onDowngraded keeps the books of what exists.
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

// grantReader turns the place into a reader's possession, for whoever asked for it. If the session
// cannot vouch for it, or the caller has left, it is over.
func (g *grants) grantReader(c *claim, p *Possession, e machine.Grant) {
	q, err := g.possession(c, e)
	if err != nil {
		g.ledger.failDowngrade(p, err)
		g.holdEnded(c)
		return
	}
	q.received.Store(true)
	switch {
	case g.withdrawn(c):
		g.host.client.End(q.Hold, session.ErrReleased) // Withdrawn is on its way and frees the znode
		g.ledger.failDowngrade(p, session.ErrReleased)
	case !p.downgrade.reply(downgradeResult{won: q}):
		q.GiveUp()
	}
}
