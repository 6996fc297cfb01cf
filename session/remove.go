package session

import (
	"errors"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// Remove deletes a znode for certain: it is repeated until ZooKeeper has confirmed that it is gone,
// or that its session is, and every ephemeral znode with it. Nothing is deleted if the znode at the
// path is another client's of this session, of the form Alone. done gets nil in all these cases,
// and [ErrClosed] if the session is closed before: then the znode may stand.
func (t *client) Remove(number uint64, path string, done func(error)) {
	s := t.session
	t.tellReleased(path)
	t.within(number, func(e *epoch) {
		g := s.state.lock()
		n := g.record.at(t, path)
		another := n == nil && g.record.byPath[path] != nil // the znode there is another client's
		g.unlock()
		var err error
		if !another {
			err = s.znodes.remove(e, path, n)
		}
		done(unlessGone(e, err))
	}, func(err error) {
		g := s.state.lock()
		e := g.cur
		if e != nil && e.number != number {
			e = e.before // the next begins when the one before is gone
		}
		g.unlock()
		done(unlessGone(e, err))
	})
}

// unlessGone is the outcome of a deletion that the end of its epoch may have ended; the epoch is
// nil if it is long gone. That end is as good as the deletion, once the servers are known to have
// noticed it.
func unlessGone(e *epoch, err error) error {
	if e != nil && errors.Is(err, ErrExpired) {
		return e.awaitGone()
	}
	if errors.Is(err, ErrClosed) {
		return err
	}
	return nil
}

// removal is the one deletion of a contender.
type removal struct {
	ended notify.Latch
	err   error // set before
}

// remove deletes a znode until it is gone. n is its entry in the record, or nil. A contender is
// deleted once, for all callers: where names come again, a second deletion, behind the first, would
// find another's znode. The error is [ErrExpired] or [ErrClosed].
func (z *znodes) remove(e *epoch, path string, n *ephemeral) error {
	if n == nil {
		return z.erase(e, path, nil)
	}
	g := z.sender.state.lock()
	r, first := n.removal, n.removal == nil
	if first {
		r = new(removal)
		n.removal, n.leaving = r, true
	}
	g.unlock()
	if first {
		defer r.ended.Close()
		r.err = ErrExpired // if it panics, which ends the epoch
		r.err = z.erase(e, path, n)
		return r.err
	}
	<-r.ended.C() // with the epoch at the latest
	return r.err
}

// erase deletes until the znode is gone. An operator may remove the cause of a refusal (a right
// that was taken away), so it is tried again.
func (z *znodes) erase(e *epoch, path string, n *ephemeral) error {
	g := z.sender.state.lock()
	alone := n != nil && n.form == znode.Alone
	doubt := alone && n.suspect // the znode at the path may be another's: it is read before it is deleted
	g.unlock()
	sent := false // a deletion
	for try := 1; ; try++ {
		var seen proof
		err := z.sender.insist(e, func(conn *zkconn.Conn) error {
			if doubt {
				mine, err := z.stillThere(conn, &seen, n)
				if err != nil || !mine { // if it is another's, this one is gone
					return err
				}
			}
			seen, sent = proof{}, true // of what is read after the deletion, another proof is needed
			doubt = alone              // the deletion may be carried out, and its answer lost
			return conn.Delete(z.space.path(path), -1)
		})
		switch {
		case err == nil, errors.Is(err, ErrNoNode):
			z.removed(n, path, err == nil && sent)
			return nil
		case errors.Is(err, ErrExpired), errors.Is(err, ErrClosed):
			return err
		}
		if try == 1 {
			z.log.Warn("a znode can't be deleted; trying again until the epoch ends", "path", z.space.path(path), "error", err)
		}
		z.sender.pause(z.sender.tasks.life, backoff(z.sender.tasks.source, try))
	}
}

// removed records that a contender is gone for certain. deleted: by this client.
func (z *znodes) removed(n *ephemeral, path string, deleted bool) {
	g := z.sender.state.lock()
	defer g.unlock()
	if n != nil && deleted {
		n.client.repeats.Store(0)
	}
	if n != nil && n.form == znode.Alone {
		g.record.strike(n)
		return
	}
	g.record.gone(path)
}

// stillThere asks whether a contender of the form Alone is still the znode at its path. Names come
// again, Czxids do not.
func (z *znodes) stillThere(conn *zkconn.Conn, p *proof, n *ephemeral) (bool, error) {
	g := z.sender.state.lock()
	path, czxid := n.path, n.czxid
	g.unlock()
	if err := p.ask(conn); err != nil {
		return false, err
	}
	stat, exists, err := existsOwn(conn, z.space.path(path))
	return exists && stat.EphemeralOwner == n.epoch.sessionID && isIt(czxid, stat), err
}

// sweep deletes, in the background, a contender that its client has given up. One that is still
// being created is swept when that is done.
func (z *znodes) sweep(n *ephemeral) {
	z.sender.tasks.run(func() {
		<-n.resolved.C()
		if mine, err := z.owned(n); err != nil || !mine {
			return // it is not there, or the epoch is over
		}
		g := z.sender.state.lock()
		path := n.path
		g.unlock()
		if path != "" {
			_ = z.remove(n.epoch, path, n) // an error is the end of the epoch
		}
	})
}
