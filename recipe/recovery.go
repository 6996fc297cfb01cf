package recipe

import (
	"sync/atomic"

	"github.com/troupe-go/troupe/internal/seam"
	"github.com/troupe-go/troupe/machine"
)

// recover begins an incarnation after a crash. In a live epoch it asks first what the one before
// left in ZooKeeper.
func (a *actor) recover(v view) {
	a.recovering = true
	incarnation := a.self.Incarnation()
	if v.epoch == 0 {
		a.host.ref.Tell(swept{incarnation})
		return
	}
	a.host.client.Recover(v.epoch, func(left []string, err error) {
		if err == nil { // else the epoch is over, and EpochEnded says when nothing of it is left
			a.host.ref.Tell(recovered{incarnation, v.epoch, left})
		}
	})
}

// postpone keeps a message until the recovery is done; false for those that belong to it or must be
// done at once.
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
				a.host.ref.Tell(swept{a.self.Incarnation()}) // what was to be swept is gone by itself
			}
		}
		// A watch that fired was armed by the incarnation before; the state of the session is told
		// when the recovery is done.
	case answered:
		// Asked by the incarnation before.
	default:
		if a.grants == nil || !a.grants.postpone(m) {
			a.pending = append(a.pending, m)
		}
	}
	return true
}

// onRecovered deletes what the incarnation before left, whether it stood there or was being
// deleted. The machine begins when all of it is gone: what it creates would wait behind that.
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
		a.host.client.Remove(m.epoch, path, func(err error) { // an error: the session is over, and says so
			if err == nil && left.Add(-1) == 0 {
				a.host.ref.Tell(done)
			}
		})
	}
}

// onSwept starts the machine on what stands: the epoch, the wishes, what was told meanwhile.
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
