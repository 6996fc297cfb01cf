package host

import (
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/session"
)

// hear passes on what the session says. It is in the view before, where the next incarnation finds
// it if this one panics over the message.
func (i *Instance[P]) hear(n session.Event) {
	i.ledger.mu.Lock()
	i.ledger.note(n)
	i.ledger.heard++
	number := i.ledger.heard
	i.ledger.mu.Unlock()
	i.ref.Tell(noticed{number, n})
}

// onNotice translates what the session says. What was in the view with which the machine began has
// been told.
func (h *host[P]) onNotice(m noticed) {
	if _, last := m.notice.(session.SessionEnded); m.number <= h.told && !last {
		return
	}
	switch n := m.notice.(type) {
	case session.EpochBegan:
		h.step(machine.EpochBegan{Epoch: n.Epoch, SessionID: n.SessionID, Trusted: n.Trusted})
	case session.EpochEnded:
		if n.Gone { // else it ends with the session, ZooKeeper may have heard nothing, and the end of the instance is on its way
			h.step(machine.EpochEnded{Epoch: n.Epoch})
			h.forget()
		}
	case session.Disconnected:
		h.step(machine.Suspended{Epoch: n.Epoch})
	case session.Reconnected:
		h.step(machine.Resumed{Epoch: n.Epoch})
	case session.TrustEnded:
		h.step(machine.TrustEnded{Epoch: n.Epoch})
	case session.TrustGained:
		h.step(machine.TrustGained{Epoch: n.Epoch})
	case session.Fired:
		h.step(machine.Fired{Epoch: n.Epoch, Path: n.Path, Change: change(n.Type)})
	case session.SessionEnded:
		h.self.Ref().Stop() // ended says why
	}
}

// note keeps the session's state for the next incarnation. With the mutex.
func (l *ledger[P]) note(n session.Event) {
	v := &l.view
	switch n := n.(type) {
	case session.EpochBegan:
		*v = view{epoch: n.Epoch, session: n.SessionID, trusted: n.Trusted}
	case session.EpochEnded:
		if n.Gone {
			*v = view{}
		}
	case session.Disconnected:
		v.suspended = true
	case session.Reconnected:
		v.suspended = false
	case session.TrustEnded:
		v.trusted = false
	case session.TrustGained:
		v.trusted = true
	}
}

// forget: the epoch is over and with it every znode of it.
func (h *host[P]) forget() {
	h.leaving = nil
	h.ledger.mu.Lock()
	spent := h.ledger.spent
	h.ledger.spent = nil
	h.ledger.mu.Unlock()
	for _, p := range spent {
		p.freed.Close()
	}
	h.stopIfSettled()
}

// fail ends the instance with a cause.
func (h *host[P]) fail(cause error) {
	h.ledger.mu.Lock()
	if h.ledger.cause == nil {
		h.ledger.cause = cause
	}
	h.ledger.mu.Unlock()
	h.self.Ref().Stop()
}

func change(t session.EventType) machine.Change {
	switch t {
	case session.NodeDeleted:
		return machine.Deleted
	case session.NodeChildrenChanged:
		return machine.ChildrenChanged
	default:
		return machine.DataChanged
	}
}
