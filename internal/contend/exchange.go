package contend

import "github.com/troupe-go/troupe/internal/machine"

// onDowngraded: the holder goes on as a reader. The reader's znode takes the writer's place in one
// transaction, so that no other writer comes between; the writer's hold has ended before, so that
// no reader comes beside it.
func (m *Machine) onDowngraded(e machine.Downgraded) {
	if !m.holds(e.Claim) {
		return
	}
	m.state = Exchanging
	m.do(machine.Exchange{Epoch: m.epoch, Path: m.place.path, Token: m.place.czxid})
}

// onExchanged goes on with the reader's znode, under the token of the writer's.
func (m *Machine) onExchanged(e machine.Exchanged) {
	if m.foreign(e.Epoch) || m.state != Exchanging || e.Path != m.place.path {
		return
	}
	wanted := m.possessed()
	switch {
	case e.Gone && wanted:
		m.lost()
	case e.Gone:
		m.do(m.place.owed...)
		m.standAnew()
	case e.Err != nil:
		m.unexchanged(wanted)
	default:
		m.place.at(e.New)
		m.place.taken, m.place.fresh = true, true
		m.place.revoked, m.place.told = false, false // it was the writer who was asked to give up, and did
		if !wanted {
			m.leave()
			return
		}
		m.watch(m.place.path)
		m.grant()
	}
}

// unexchanged: the writer's znode stands, and nobody holds it any more.
func (m *Machine) unexchanged(wanted bool) {
	if wanted {
		m.place.owed = append(m.place.owed, machine.Freed{Claim: m.place.of})
		m.possessionOver()
	}
	m.leave()
}

// possessed: the first claim has a possession of the own znode, or is about to have it again as a
// reader.
func (m *Machine) possessed() bool {
	return (m.state == Holding || m.state == Exchanging) && len(m.claims) > 0 && m.claims[0].id == m.place.of
}
