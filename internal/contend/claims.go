package contend

import (
	"slices"

	"github.com/troupe-go/troupe/internal/machine"
)

// claim is one wish in the instance's own line.
type claim struct {
	id    machine.Claim
	once  bool
	try   bool
	since uint64 // a try's verdict comes from a listing with a greater number
}

func (m *Machine) onWanted(e machine.Wanted) {
	if e.Try && len(m.claims) > 0 {
		m.do(machine.Settle{Claim: e.Claim, Err: machine.ErrHeld})
		return
	}
	m.claims = append(m.claims, claim{id: e.Claim, once: e.Once, try: e.Try, since: m.asks})
	switch {
	case m.state == Idle:
		m.join()
	case m.state == Joining && len(m.claims) == 1:
		m.inherit()
	}
}

// inherit gives a znode under way, whose claim was withdrawn, to the next claim: nothing of the
// withdrawn one is left to wait for but what its last possession left.
func (m *Machine) inherit() {
	owed := m.place.owed
	m.place.owed = nil
	if m.old.path != "" {
		m.old.owed = append(m.old.owed, owed...)
		return
	}
	m.do(owed...)
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
	if i == 0 && m.state.placed() && (m.state == Holding || len(m.claims) == 0) {
		m.place.owed = append(m.place.owed, settle)
		m.leave()
		return
	}
	if i == 0 && (m.state == Joining && len(m.claims) == 0 || m.state == Exchanging && m.place.of == e.Claim) {
		m.place.owed = append(m.place.owed, settle)
		return
	}
	m.doWhenGone(e.Claim, settle)
}

// settling: the claim was refused, failed or withdrawn, and is settled as soon as its znode is
// gone.
func (m *Machine) settling(c machine.Claim) bool {
	settles := func(e machine.Effect) bool {
		s, ok := e.(machine.Settle)
		return ok && s.Claim == c
	}
	return slices.ContainsFunc(m.place.owed, settles) || slices.ContainsFunc(m.old.owed, settles)
}

func (m *Machine) onReleased(e machine.Released) {
	freed := machine.Freed{Claim: e.Claim}
	if !m.holds(e.Claim) {
		m.doWhenGone(e.Claim, freed)
		return
	}
	m.place.owed = append(m.place.owed, freed)
	m.possessionOver()
	m.leave()
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

// refuse ends the try at the head of the claims. The next claim takes its place over.
func (m *Machine) refuse() {
	settle := machine.Settle{Claim: m.claims[0].id, Err: machine.ErrHeld}
	m.claims = m.claims[1:]
	if len(m.claims) > 0 {
		m.do(settle)
		return
	}
	m.place.owed = append(m.place.owed, settle)
	m.leave()
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
