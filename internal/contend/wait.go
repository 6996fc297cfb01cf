package contend

import "github.com/troupe-go/troupe/internal/machine"

// onOwnSeen: the own znode was read. That it stands, and whose it is, is all that makes a place
// ours (B01, B12). first: it is the first word of it since the create's.
func (m *Machine) onOwnSeen(e machine.Seen, first bool) {
	switch {
	case e.Err != nil && m.state == Holding && first:
		m.unwatched(e.Err)
		return
	case e.Err != nil && m.state == Holding:
		m.pause()
		return
	case e.Err != nil:
		m.fail(e.Err)
		return
	case !e.Exists || e.Owner != m.session:
		m.lost()
		return
	case m.look.doubt != nil:
		m.fail(m.look.doubt)
		return
	}
	m.note(e)
	m.place.tries = 0
	switch m.state {
	case Holding:
		m.tellRevoked()
	case Ordering:
		m.order()
	case Checking:
		m.advance()
	}
}

// onPredSeen: the predecessor was read.
func (m *Machine) onPredSeen(e machine.Seen) {
	switch {
	case e.Err != nil:
		m.fail(e.Err)
	case !e.Exists:
		m.list()
	case m.permits != nil:
		m.headed(e)
	default:
		m.advance()
	}
}

// advance goes on from Checking: to a grant once the own znode is known to stand, to waiting once
// it and the predecessor are watched.
func (m *Machine) advance() {
	switch {
	case m.permits != nil:
		m.weigh()
	case m.look.pred == "":
		if m.stands() {
			m.first()
		}
	case m.armed(m.place.path) && m.armed(m.look.pred):
		m.state = Waiting
	}
}

// predGone: the predecessor's znode was deleted. It is our turn without another look if nobody else
// was ahead and the own znode stands, which Waiting says: its watch, in the same ordered stream,
// would have fired before.
func (m *Machine) predGone() {
	if m.state != Waiting || !neverLooksAgain && (!m.look.alone || m.look.torn) {
		m.list()
		return
	}
	m.look.pred, m.ahead = "", 0
	m.first()
}

// first: nobody is ahead, and the own znode stands.
func (m *Machine) first() {
	m.state = Ready
	if m.trusted && !m.deferred {
		m.grant()
	}
}
