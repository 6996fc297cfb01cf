package recipe

import (
	"sync/atomic"

	"github.com/troupe-go/troupe/internal/crash"
	"github.com/troupe-go/troupe/internal/seam"
	"github.com/troupe-go/troupe/machine"
)

// recover begins the recovery of an incarnation after a crash. In a live epoch it first asks the
// session which znodes the crashed incarnation left.
func (a *actor) recover(v view) {
	a.recovering = true
	incarnation := a.self.Incarnation()
	if v.epoch == 0 {
		a.host.ref.Tell(swept{incarnation})
		return
	}
	a.host.client.Recover(v.epoch, func(left []string, err error) {
		if err == nil { // otherwise the epoch has ended, and EpochEnded tells when its znodes are gone
			a.host.ref.Tell(recovered{incarnation, v.epoch, left})
		}
	})
}

// postpone keeps a message until the recovery is done; false for those that belong to the recovery
// or cannot wait.
func (a *actor) postpone(m message) bool {
	switch m := m.(type) {
	case recovered, swept, crashed:
		return false
	case noticed:
		switch n := m.notice.(type) {
		case seam.SessionEnded:
			a.host.ref.Stop()
		case seam.EpochEnded:
			if n.Gone { // see onNotice
				a.host.ref.Tell(swept{a.self.Incarnation()}) // the znodes are gone with the epoch
			}
		}
		// All other notices are dropped: the machine gets the state of the session from the view
		// after the recovery, and a Fired is of a watch of the crashed incarnation.
	case answered: // the crashed incarnation asked
	default:
		if a.grants == nil || !a.grants.postpone(m) {
			a.pending = append(a.pending, m)
		}
	}
	return true
}

// onRecovered deletes the znodes that the crashed incarnation left, also those that were being
// deleted. The machine begins when all of them are gone: its own would wait behind them in the
// queue.
func (a *actor) onRecovered(m recovered) {
	if m.incarnation != a.self.Incarnation() || !a.recovering {
		return
	}
	done := swept{m.incarnation}
	if len(m.left) == 0 {
		a.onSwept(done)
		return
	}
	var left atomic.Int64
	left.Store(int64(len(m.left)))
	for _, path := range m.left {
		a.host.client.Remove(m.epoch, path, func(err error) { // with an error the session has ended, which is told
			if err == nil && left.Add(-1) == 0 {
				a.host.ref.Tell(done)
			}
		})
	}
}

// onSwept lets the machine begin: it is told the epoch, the intents, and the messages that waited.
func (a *actor) onSwept(m swept) {
	if m.incarnation != a.self.Incarnation() || !a.recovering {
		return
	}
	a.recovering = false
	a.host.mu.Lock()
	v, toClose := a.host.view, a.host.closing
	a.told = a.host.heard
	a.host.mu.Unlock()
	if a.grants != nil {
		a.grants.reset()
	}
	if v.epoch != 0 {
		a.step(machine.EpochBegan{Epoch: v.epoch, SessionID: v.session, Trusted: v.trusted})
		if v.suspended {
			a.step(machine.Suspended{Epoch: v.epoch})
		}
	}
	if a.grants != nil {
		a.grants.tellClaims()
	}
	if a.host.cfg.Standing != nil {
		for _, ev := range a.host.cfg.Standing() {
			a.step(ev)
		}
	}
	pending := a.pending
	a.pending = nil
	for _, msg := range pending {
		a.Receive(msg)
	}
	if toClose {
		a.tellClosing()
	}
}

func init() {
	crash.Instance = func(instance, value any) { instance.(interface{ crash(value any) }).crash(value) }
}

func (h *Host) crash(value any) { h.ref.Tell(crashed{value}) }

func (i *Claims[P]) crash(value any) { i.core.host.crash(value) }
