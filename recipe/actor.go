package recipe

import (
	"errors"
	"time"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/internal/seam"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/session"
)

// actor is one incarnation of an instance.
type actor struct {
	host        *Host
	self        actors.Self[message]
	machine     machine.Machine
	grants      *grants // nil: the machine does not grant
	timers      map[uint64]*time.Timer
	toldClosing bool   // the machine was told to wind up
	told        uint64 // the number of the last notice that was in the view with which the machine began; 0 in the first incarnation
	ensured     uint64 // the last epoch in which the parent was made: see ensureParent

	// An incarnation after the first begins with a recovery: it deletes the znodes of the one
	// before. Until then messages wait.
	recovering bool
	pending    []message
}

func newActor(h *Host, self actors.Self[message]) *actor {
	a := &actor{host: h, self: self, timers: make(map[uint64]*time.Timer), machine: h.cfg.Machine()}
	v := h.now() // New holds the mutex until the client is set
	if h.core != nil {
		a.grants = newGrants(h.core, a)
	}
	if self.Incarnation() > 1 {
		h.Emit(session.Event{Kind: session.EventRestarted, Attempt: self.Incarnation() - 1})
		a.recover(v)
	}
	return a
}

// Receive implements [actors.Receiver].
func (a *actor) Receive(m message) {
	if a.recovering && a.postpone(m) {
		return
	}
	switch m := m.(type) {
	case noticed:
		a.onNotice(m)
	case intended:
		a.step(m.event)
	case closing:
		a.tellClosing()
	case answered:
		if m.incarnation == a.self.Incarnation() {
			a.onAnswer(m.event)
		}
	case afterwards:
		if m.incarnation == a.self.Incarnation() {
			m.do()
		}
	case recovered:
		a.onRecovered(m)
	case swept:
		a.onSwept(m)
	case crashed:
		panic(m.value)
	default:
		a.grants.receive(m)
	}
}

// Phase is shown in the live tree.
func (a *actor) Phase() string {
	if a.recovering {
		return "recovering"
	}
	if a.grants != nil {
		return a.grants.published.String()
	}
	if m, ok := a.machine.(interface{ Phase() string }); ok {
		return m.Phase()
	}
	return "running"
}

// Stopping ends the incarnation: after a panic the possessions of the incarnation end.
func (a *actor) Stopping(cause error) {
	for _, t := range a.timers {
		t.Stop()
	}
	if errors.Is(cause, actors.ErrRestarting) {
		a.host.endHolds(session.ErrRestarted)
	}
}

func (a *actor) step(ev machine.Event) {
	for _, e := range a.machine.Step(ev) {
		a.carryOut(e)
	}
}

// tellClosing tells the machine to wind up, once.
func (a *actor) tellClosing() {
	if !a.toldClosing {
		a.toldClosing = true
		a.step(machine.Closing{})
		a.settle()
	}
}

func (a *actor) onAnswer(ev machine.Event) {
	if w, ok := ev.(machine.Woke); ok {
		if a.timers[w.Ask] == nil {
			return // it was cancelled as it went off
		}
		delete(a.timers, w.Ask)
	}
	if a.grants != nil {
		a.grants.saw(ev)
	}
	a.step(ev)
	a.settle()
}

// settle ends an instance whose machine grants, if it is closing and nothing of it is left.
func (a *actor) settle() {
	if a.grants != nil {
		a.grants.settle()
	}
}

// onNotice passes a notice of the session to the machine, unless it was in the view with which the
// machine began.
func (a *actor) onNotice(m noticed) {
	if _, last := m.notice.(seam.SessionEnded); m.number <= a.told && !last {
		return
	}
	switch n := m.notice.(type) {
	case seam.EpochEnded:
		if n.Gone { // otherwise it ends with the session, without ZooKeeper's confirmation, and SessionEnded follows
			a.step(machine.EpochEnded{Epoch: n.Epoch})
			if a.grants != nil {
				a.grants.forget()
			}
		}
	case seam.SessionEnded:
		a.host.ref.Stop() // Host.ended finds out why
	default:
		a.step(n)
	}
}

// fail ends the instance with a cause, nil if its machine has wound up.
func (a *actor) fail(cause error) {
	a.host.mu.Lock()
	if a.host.cause == nil {
		a.host.cause = cause
	}
	a.host.mu.Unlock()
	a.self.Ref().Stop()
}
