package host

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/session"
)

// takeOver begins an incarnation after a crash. In a live epoch it asks first what the one before
// left in ZooKeeper.
func (h *host[P]) takeOver(v view) {
	h.recovering = true
	incarnation := h.self.Incarnation()
	if v.epoch == 0 {
		h.ref.Tell(swept{incarnation: incarnation})
		return
	}
	h.client.Recover(v.epoch, func(standing, leaving []string, err error) {
		if err == nil { // else the epoch is over, and EpochEnded says when nothing of it is left
			h.ref.Tell(recovered{incarnation, v.epoch, standing, leaving})
		}
	})
}

// postpone keeps a message until the recovery is done; false for those that belong to it or must be
// done at once.
func (h *host[P]) postpone(m message) bool {
	switch m := m.(type) {
	case recovered, swept, poked:
		return false
	case noticed:
		switch n := m.notice.(type) {
		case session.SessionEnded:
			h.self.Ref().Stop()
		case session.EpochEnded:
			if n.Gone { // see onNotice
				h.forget() // what was to be swept is gone by itself
				h.ref.Tell(swept{incarnation: h.self.Incarnation()})
			}
		case session.Fired:
			// An armed watch of the incarnation before: whoever takes its znode over reads anew.
		}
	case answered:
		// Asked by the incarnation before, or none yet of this one.
	case wanted:
		// It is in the ledger, and the machine is told of all that is there when the recovery is
		// done.
	case withdrawn:
		h.forsake(m.claim)
	default:
		h.pending = append(h.pending, m)
	}
	return true
}

// forsake settles a claim that was withdrawn before any machine knew of it: nothing can have come
// of it. The withdrawal of others is noted in the ledger, of which the machine is told when the
// recovery is done. So nothing piles up, however long that takes and whatever is tried in vain
// meanwhile.
func (h *host[P]) forsake(id machine.Claim) {
	if c := h.ledger.find(id); c != nil && c.known == 0 {
		h.ledger.remove(c)
		c.settled.Close()
	}
}

// onRecovered deletes what must not be taken over: znodes that a possession came of, and all but
// one of the others.
func (h *host[P]) onRecovered(m recovered) {
	if m.incarnation != h.self.Incarnation() || !h.recovering {
		return
	}
	done := swept{incarnation: m.incarnation, epoch: m.epoch}
	stale := m.leaving
	for _, path := range m.standing {
		h.ledger.mu.Lock()
		_, spent := h.ledger.spent[path]
		wanted := slices.ContainsFunc(h.ledger.claims, func(c *claim[P]) bool { return !c.withdrawn && !c.had() })
		h.ledger.mu.Unlock()
		if wanted && !spent && done.unspent == "" {
			done.unspent = path
			continue
		}
		stale = append(stale, path)
	}
	if len(stale) == 0 {
		h.onSwept(done)
		return
	}
	var left atomic.Int64
	left.Store(int64(len(stale)))
	for _, path := range stale {
		h.client.Remove(m.epoch, path, func(err error) { // an error: the session is over, and says so
			if err == nil && left.Add(-1) == 0 {
				h.ref.Tell(done)
			}
		})
	}
}

// onSwept starts the machine on what stands: the epoch, the znode taken over, the wishes.
func (h *host[P]) onSwept(m swept) {
	if m.incarnation != h.self.Incarnation() || !h.recovering {
		return
	}
	h.recovering = false
	h.ledger.mu.Lock()
	v := h.ledger.view
	h.told = h.ledger.heard
	h.ledger.mu.Unlock()
	h.forget()
	h.publish(machine.Standing{}) // as a machine begins; what it says from here on is what changes
	h.dropHad()
	if v.epoch != 0 {
		h.step(machine.EpochBegan{Epoch: v.epoch, SessionID: v.session, Trusted: v.trusted})
		if v.suspended {
			h.step(machine.Suspended{Epoch: v.epoch})
		}
		if m.unspent != "" && m.epoch == v.epoch {
			h.step(machine.Recovered{Epoch: v.epoch, Path: m.unspent})
		}
	}
	for _, c := range h.ledger.all() {
		h.want(c)
		if h.withdrawn(c) {
			h.withdraw(c)
		}
	}
	pending := h.pending
	h.pending = nil
	for _, msg := range pending {
		h.Receive(msg)
	}
	h.stopIfSettled()
}

// dropHad takes claims out of the ledger that had their one possession from the incarnation before.
func (h *host[P]) dropHad() {
	for _, c := range h.ledger.all() {
		h.ledger.mu.Lock()
		p, had := c.held, c.had()
		c.held = nil
		h.ledger.mu.Unlock()
		if p != nil {
			p.freed.Close()
		}
		if had {
			h.ledger.remove(c)
			c.settled.Close()
		}
	}
}

// endHolds ends every possession of this instance, and takes back what was offered.
func (i *Instance[P]) endHolds(cause error) {
	for _, c := range i.ledger.all() {
		i.ledger.mu.Lock()
		p := c.held
		i.ledger.mu.Unlock()
		if p != nil {
			i.client.End(p.Hold, cause)
			i.ledger.failDowngrade(p, cause)
			i.recall(p)
		}
	}
}

// closed is what an instance ends with that is closed, or its session; if that has failed, it says
// so too, whichever of the two ended first.
func closed(s *session.Session) error {
	if err := s.Err(); err != nil && !errors.Is(err, session.ErrClosed) {
		return fmt.Errorf("%w: %w", session.ErrClosed, err)
	}
	return session.ErrClosed
}

// ended is the end of the instance: by Close, with the session, or because its actor was given up.
func (i *Instance[P]) ended(cause error) {
	i.ledger.mu.Lock()
	err := i.ledger.cause
	i.ledger.closing, i.ledger.standing = true, nil
	client := i.client
	i.ledger.mu.Unlock()
	ofHolds := session.ErrClosed
	switch {
	case errors.Is(cause, actors.ErrGivenUp):
		err, ofHolds = cause, session.ErrRestarted
	case err == nil:
		err = closed(i.cfg.Session)
	}
	err = i.failed(err)
	if client == nil {
		return // New failed: nobody has seen the instance
	}
	if i.cfg.Ended != nil {
		i.cfg.Ended(err)
	}
	i.end.Set(err)
	i.endHolds(ofHolds)
	client.Leave()
	for _, c := range i.ledger.all() {
		c.reply(outcome[P]{err: err})
		c.unconfirmed.Store(true)
		c.settled.Close()
		i.ledger.remove(c)
	}
	i.ledger.mu.Lock()
	spent := i.ledger.spent
	i.ledger.spent = nil
	i.ledger.mu.Unlock()
	for _, p := range spent {
		p.unconfirmed.Store(&err)
		p.freed.Close()
	}
}
