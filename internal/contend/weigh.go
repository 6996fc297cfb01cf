package contend

import (
	"fmt"

	"github.com/troupe-go/troupe/internal/machine"
	"github.com/troupe-go/troupe/internal/znode"
)

// weigh goes on from Checking, for a semaphore, as far as what is known allows. It may be called at
// every news.
//
// Who is granted writes so on his own znode first, in a transaction that also checks that the limit
// is the one that he was measured by. His successor, who watches that, is then the head of the
// waiters, and the only one to watch the limit, and who comes and goes.
func (m *Machine) weigh() {
	own, ahead := m.look.own, m.look.queue
	switch {
	case m.state != Checking || m.look.doubt != nil: // the line could not be listed
		return
	case m.place.held:
		m.look.pred, m.ahead = "", 0
		if m.stands() {
			m.first()
		}
		return
	case m.look.own.Name == "": // the order is not known
		return
	case !m.limit.known:
		m.readLimit(m.place.head)
		m.know()
		return
	case own.Weight > m.permits.limit && m.limit.at < m.look.ask:
		m.readLimit(m.place.head) // it may have been raised since
		return
	case own.Weight > m.permits.limit:
		m.fail(fmt.Errorf("%w: it is %d, less than the weight of %d", machine.ErrLimit, m.permits.limit, own.Weight))
		return
	}
	blockers := m.permits.Before(own, ahead)
	m.ahead = len(blockers)
	switch {
	case len(blockers) == 0:
		m.mark()
		return
	case m.claims[0].try && m.look.ask <= m.claims[0].since:
		m.list() // asked before the try: whoever is in it may be gone since
		return
	case m.claims[0].try && m.limit.at <= m.claims[0].since:
		m.readLimit(false)
		return
	case m.claims[0].try:
		m.refuse()
		if m.state == Leaving {
			return
		}
	}
	m.attend(blockers[len(blockers)-1])
}

// attend watches what a waiter has to: the head who comes and goes, and the limit; everybody else
// the one ahead.
func (m *Machine) attend(last znode.Contender) {
	if !m.armed(m.place.path) {
		m.watch(m.place.path)
	}
	m.place.head = m.place.head || !last.Marks()
	if !m.place.head {
		m.look.pred = znode.Join(m.cfg.Parent, last.Name)
		if !m.look.seen || !m.armed(m.look.pred) {
			m.watch(m.look.pred)
		}
		if m.look.seen && m.armed(m.place.path) && m.armed(m.look.pred) {
			m.state = Waiting
		}
		return
	}
	m.look.pred = ""
	if !m.armed(m.cfg.Parent) {
		m.readLimit(true)
	}
	switch {
	case !m.look.crowd:
		m.list()
	case m.armed(m.place.path) && m.armed(m.cfg.Parent):
		m.state = Waiting
	}
}

// headed: the one ahead holds, so this is the head of the waiters. That it stays: whoever is ahead
// of a holder holds as well, or goes.
func (m *Machine) headed(e machine.Seen) {
	m.look.seen = true
	if notes, _ := znode.ParseNotes(e.Data); notes.Held {
		m.place.head = true
	}
	if m.state == Waiting {
		m.state = Checking
	}
	m.weigh()
}

// onCrowd: somebody came or went.
func (m *Machine) onCrowd() {
	switch {
	case !m.place.head:
	case m.state == Waiting, m.state == Checking && m.look.crowd:
		m.list()
	case m.state == Listing, m.state == Ordering:
		m.look.stale = true // the listing under way may have been answered before
	case m.state == Marking:
		m.look.crowd = false // should it not come to that, the line has to be listed again
	}
}

// know sees to it that the own znode's data and version are known, which a mark needs.
func (m *Machine) know() bool {
	if !m.place.known {
		m.watch(m.place.path)
	}
	return m.place.known
}

// mark writes on the own znode that it is granted.
func (m *Machine) mark() {
	if !m.know() {
		return
	}
	m.state = Marking
	m.place.marks = true
	m.write(machine.Guard{Path: m.cfg.Parent, Version: m.limit.version})
}

// remark writes the mark again if somebody has written over it, or the successor would not know
// that it is the head.
func (m *Machine) remark() {
	if m.place.held && m.place.bare && m.place.marking == 0 {
		m.write(machine.Guard{})
	}
}

func (m *Machine) write(guard machine.Guard) {
	m.place.marking, m.place.marked = m.ask(), m.place.version+1
	m.do(machine.Write{
		Epoch: m.epoch, Ask: m.place.marking, Path: m.place.path, Version: m.place.version,
		Data:  znode.Notes{Unlock: m.place.revoked, Held: true}.Write(m.place.data),
		Guard: guard,
	})
}

func (m *Machine) onWritten(e machine.Written) {
	switch {
	case m.foreign(e.Epoch) || e.Ask == 0:
	case e.Ask == m.limit.writing:
		m.onLimitWritten(e)
	case e.Ask == m.place.marking:
		m.place.marking = 0
		m.onMarked(e)
	}
}

func (m *Machine) onMarked(e machine.Written) {
	switch {
	case m.state == Marking && e.Stale: // asked to give up meanwhile, or the limit is another, or it was written after all
		m.state = Checking
		m.limit.known, m.place.known = false, false
		m.rewatch(m.place.path)
		m.weigh()
	case e.Stale:
		m.rewatch(m.place.path)
	case e.Err != nil && m.state == Holding: // somebody took away the right to write, and may give it back
		m.pause()
	case e.Err != nil:
		m.fail(e.Err)
	default:
		m.written()
	}
}

// written: the own znode stood when it was written, whatever was read of it since. That its end
// will be heard of is seen to beside the grant.
func (m *Machine) written() {
	if m.place.version < m.place.marked {
		m.place.version, m.place.bare = m.place.marked, false
	}
	m.place.held = true
	m.remark()
	if m.state != Marking {
		return
	}
	if !m.armed(m.place.path) {
		m.place.fresh = true
		m.watch(m.place.path)
	}
	m.look.pred, m.ahead = "", 0
	m.first()
}
