package solo

import (
	"errors"

	"github.com/troupe-go/troupe/internal/machine"
	"github.com/troupe-go/troupe/internal/znode"
)

// place is the own znode.
type place struct {
	of   machine.Claim    // whose possession came of it; 0: nobody's
	old  bool             // a possession came of it before the crash, nobody knows whose
	owed []machine.Effect // what is to be said when it is gone

	czxid   int64 // 0: not known yet
	revoked bool  // the data asked its holder to give up
	told    bool  // and the holder was told
}

// create tries to be the one whose znode it is.
func (m *Machine) create() {
	m.state = Creating
	m.joined = m.ask()
	m.do(machine.Join{Epoch: m.epoch, Ask: m.joined})
}

func (m *Machine) onJoined(e machine.Joined) {
	if m.foreign(e.Epoch) || m.state != Creating {
		return
	}
	switch {
	case errors.Is(e.Err, machine.ErrHeld):
		m.settleOwed()
		m.taken()
	case e.Err != nil:
		m.do(m.failures(e.Err)...)
		m.settleOwed()
		m.standAnew()
	case len(m.claims) == 0:
		m.leave()
	case e.Owner != m.session || e.Czxid == 0: // its answer was lost, or an old server does not tell
		m.verify()
	default:
		m.place.czxid = e.Czxid
		m.first()
		m.lookAnew() // a read under way may be from before the znode stood
	}
}

// taken: somebody's znode was there when the create was tried.
func (m *Machine) taken() {
	switch {
	case len(m.claims) == 0:
		m.state = Idle
		return
	case m.claims[0].try && m.joined <= m.claims[0].since: // asked before the try: whoever it was may be gone since
		m.create()
		return
	case m.claims[0].try:
		m.do(machine.Settle{Claim: m.claims[0].id, Err: machine.ErrHeld})
		m.claims = m.claims[1:]
	}
	if len(m.claims) == 0 {
		m.state = Idle
		return
	}
	m.state = Looking
	m.look()
}

// onRecovered takes over what a crashed incarnation left, or deletes it. It comes before anything
// is wanted.
func (m *Machine) onRecovered(e machine.Recovered) {
	if m.foreign(e.Epoch) || m.state != Idle {
		return
	}
	m.place = place{old: e.Spent}
	if e.Spent {
		m.leave()
		return
	}
	m.verify()
}

// verify reads the own znode before anything comes of it.
func (m *Machine) verify() {
	m.state = Verifying
	m.lookAnew()
}

// first: the own znode stands.
func (m *Machine) first() {
	m.state = Ready
	if !m.trusted || m.deferred {
		return
	}
	c := m.claims[0].id
	m.state = Holding
	m.place.of = c
	m.do(machine.Grant{Epoch: m.epoch, Claim: c, Path: m.path, Token: m.place.czxid})
	m.tellRevoked()
}

// tellRevoked tells the holder, once, that its znode asks it to give up.
func (m *Machine) tellRevoked() {
	if m.place.revoked && !m.place.told {
		m.place.told = true
		m.do(machine.Revoked{Claim: m.place.of})
	}
}

// lost: the own znode is gone, or was never ours.
func (m *Machine) lost() {
	if m.state == Holding {
		m.do(machine.End{Claim: m.claims[0].id, Cause: machine.Deleted})
		m.possessionOver()
	}
	m.standAnew()
}

// unreadable: nobody would tell when the own znode goes, so nothing may be held by it.
func (m *Machine) unreadable(err error) {
	if m.state == Holding {
		m.do(machine.End{Claim: m.claims[0].id, Cause: machine.Unwatched, Err: err})
		m.possessionOver()
	}
	m.place.owed = append(m.place.owed, m.failures(err)...)
	m.leave()
}

// note keeps what was read of the own znode.
func (m *Machine) note(e machine.Seen) {
	m.place.czxid = e.Czxid
	m.place.revoked = m.place.revoked || znode.Revoked(e.Data)
}

// leave deletes the own znode.
func (m *Machine) leave() {
	m.state = Leaving
	m.do(machine.Leave{Epoch: m.epoch, Path: m.path})
}

func (m *Machine) onLeft(e machine.Left) {
	if !m.foreign(e.Epoch) && m.state == Leaving {
		m.settleOwed()
		m.standAnew()
	}
}

func (m *Machine) settleOwed() {
	m.do(m.place.owed...)
	m.place.owed = nil
}

// standAnew goes on without a znode.
func (m *Machine) standAnew() {
	m.place = place{}
	if len(m.claims) == 0 {
		m.state = Idle
		return
	}
	m.create()
}
