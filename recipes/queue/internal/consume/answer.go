package consume

import (
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
)

func (m *Machine) onAnswer(k key, ev machine.Event) {
	if k.purpose == auditing {
		m.scrub.onAudited(ev)
		return
	}
	switch ev := ev.(type) {
	case machine.Ensured:
		if k.at == m.graves.at.Work() && ev.Code != machine.Done {
			m.graves.grieve(ev.Err)
			return
		}
		m.onPrepared(k.at, ev)
	case machine.Removed:
		m.removing--
	case machine.Listed:
		m.onListed(k, ev)
	case machine.Seen:
		m.onSeen(k, ev)
	case machine.Looked:
		m.sharing.onSurveyed(ev, &m.heirs)
	case machine.Transacted:
		m.onTransacted(k, ev)
	}
}

// onListed takes a listing in.
func (m *Machine) onListed(k key, ev machine.Listed) {
	b, _ := place.ParseBucket(k.at) // as it was asked for
	switch k.purpose {
	case lining:
		m.line.onLine(ev)
		return
	case digging:
		m.graves.onDug(ev)
		return
	case sweeping:
		m.scrub.onSwept(ev, b, &m.view)
		return
	}
	switch {
	case ev.Code == machine.NoNode && k.purpose == scanning:
		m.view.buckets = nil // deleted meanwhile
		return
	case ev.Code == machine.NoNode && k.purpose != finding:
		m.prepare()
		return
	case ev.Code != machine.Done && ev.Code != machine.NoNode && k.purpose == scanning:
		m.skip(ev.Path, ev.Err)
		return
	case ev.Code != machine.Done && ev.Code != machine.NoNode:
		m.refused(ev.Path, ev.Err)
		return
	}
	switch k.purpose {
	case looking:
		m.view.onLooked(ev)
		m.later.tail.Listed(ev.Names)
	case scanning:
		switch {
		case m.view.listings == nil: // this consumer does not look any more
		case b.Lane.Later:
			m.later.onScanned(b, ev)
		default:
			m.view.onScanned(b, ev)
		}
	case collecting:
		m.view.onCollected(ev)
	case counting:
		m.heirs.onCounted(ev)
	case calling:
		m.heirs.onCalled(ev)
	case finding:
		m.book.onFound(k.at, ev)
	}
}

func (m *Machine) onSeen(k key, ev machine.Seen) {
	switch k.purpose {
	case checking:
		if m.own.onChecked(ev) {
			m.renew()
		}
	case guarding:
		if m.own.onGuarded(ev) {
			m.unguarded()
		}
	case following:
		m.line.onFollowed(ev)
	case measuring:
		m.view.onMeasured(ev)
	case reading:
		m.book.onRead(k.at, ev)
	case opening:
		m.heirs.onOpened(k.at, ev)
	case vetting:
		m.heirs.onVetted(ev)
	case resolving:
		m.onResolved(ev)
	case rooming:
		m.space.onRoom(ev)
	case fetching:
		m.later.onFetched(ev)
	}
}

func (m *Machine) onTransacted(k key, ev machine.Transacted) {
	switch k.purpose {
	case signing:
		m.own.onSigned(ev)
	case joining:
		m.line.onJoined(ev)
	case inheriting:
		m.heirs.onInherited(k.at, ev)
	case writing:
		if k.at == m.own.tag && m.txn != nil {
			m.onWritten(ev)
		} else {
			m.line.over(k.at, ev)
		}
	case asking:
		m.sharing.onAsked(k.at, ev)
	case moving:
		m.later.onMoved(ev)
	case returning:
		m.scrub.onReturned(ev)
	case clearing:
		b, _ := place.ParseBucket(k.at) // as it was asked for
		delete(m.later.listings, b)     // if it is there still, it is not as it was believed to be
		delete(m.view.listings, b)
		if ev.Code == machine.Refused {
			m.skip(m.root.Bucket(b), ev.Err)
		}
	}
}

func (m *Machine) onFired(ev machine.Fired) {
	switch {
	case ev.Path == m.own.alive() && ev.Change == machine.Deleted:
		if !m.own.unheld {
			m.unguarded()
		}
	case ev.Path == m.own.alive():
		m.own.guarded = false
	case ev.Path == m.line.ahead:
		m.line.ahead = ""
	case ev.Path == m.root.Living():
		m.heirs.leave()
	default:
		m.view.onFired(ev.Path)
		m.later.onFired(ev.Path)
	}
}

// unguarded: the own ephemeral znode is gone.
func (m *Machine) unguarded() {
	if m.txn == nil || !m.txn.last { // otherwise that has deleted it, or finds out
		m.lose()
	}
}
