package solo

import (
	"slices"

	"github.com/troupe-go/troupe/internal/machine"
)

// claim is one wish in the instance's own line.
type claim struct {
	id    machine.Claim
	once  bool
	try   bool
	since uint64 // a try's verdict comes from a create with a greater number
}

func (m *Machine) onWanted(e machine.Wanted) {
	if e.Try && len(m.claims) > 0 {
		m.do(machine.Settle{Claim: e.Claim, Err: machine.ErrHeld})
		return
	}
	m.claims = append(m.claims, claim{id: e.Claim, once: e.Once, try: e.Try, since: m.asks})
	switch {
	case m.state == Idle:
		m.create()
	case m.state == Creating && len(m.claims) == 1: // the one that it was asked for was withdrawn
		m.settleOwed()
	}
}

func (m *Machine) onWithdrawn(e machine.Withdrawn) {
	if m.settling(e.Claim) {
		return
	}
	settle := machine.Settle{Claim: e.Claim}
	i := slices.IndexFunc(m.claims, func(c claim) bool { return c.id == e.Claim })
	if i >= 0 {
		m.claims = slices.Delete(m.claims, i, i+1)
	}
	none := len(m.claims) == 0
	switch {
	case i == 0 && m.state.placed() && (m.state == Holding || none):
		m.place.owed = append(m.place.owed, settle)
		m.leave()
	case i == 0 && m.state == Creating && none:
		m.place.owed = append(m.place.owed, settle)
	case i == 0 && (m.state == Looking || m.state == Waiting) && none:
		if m.state == Waiting {
			m.do(machine.Unwatch{Epoch: m.epoch, Path: m.path})
		}
		m.state = Idle
		m.do(settle)
	case m.state == Leaving && (m.place.of == e.Claim || m.place.old):
		m.place.owed = append(m.place.owed, settle)
	default:
		m.do(settle)
	}
}

// settling: the claim was refused, failed or withdrawn, and is settled as soon as its znode is
// gone.
func (m *Machine) settling(c machine.Claim) bool {
	return slices.ContainsFunc(m.place.owed, func(e machine.Effect) bool {
		s, ok := e.(machine.Settle)
		return ok && s.Claim == c
	})
}

func (m *Machine) onReleased(e machine.Released) {
	freed := machine.Freed{Claim: e.Claim}
	switch {
	case m.holds(e.Claim):
		m.place.owed = append(m.place.owed, freed)
		m.possessionOver()
		m.leave()
	case m.state == Leaving && m.place.of == e.Claim:
		m.place.owed = append(m.place.owed, freed)
	default:
		m.do(freed)
	}
}

// onHoldEnded: the possession is over though its znode stands. It goes, so that nothing comes of it
// again, and who holds next is open.
func (m *Machine) onHoldEnded(e machine.HoldEnded) {
	if m.holds(e.Claim) {
		m.possessionOver()
		m.leave()
	}
}

// onDeferred takes a grant back: the znode is kept until trust comes.
func (m *Machine) onDeferred(e machine.Deferred) {
	if m.holds(e.Claim) {
		m.deferred = true
		m.place.of, m.place.told = 0, false
		m.state = Ready
	}
}

// holds: the claim has a possession.
func (m *Machine) holds(c machine.Claim) bool { return m.state == Holding && m.claims[0].id == c }

// possessionOver moves on to the next claim after a possession: the one that had it is over, or
// goes to the back.
func (m *Machine) possessionOver() {
	c := m.claims[0]
	m.claims = m.claims[1:]
	if !c.once {
		m.claims = append(m.claims, c)
	}
}

// failures settles every claim with an error.
func (m *Machine) failures(err error) []machine.Effect {
	var all []machine.Effect
	for _, c := range m.claims {
		all = append(all, machine.Settle{Claim: c.id, Err: err})
	}
	m.claims = nil
	return all
}
