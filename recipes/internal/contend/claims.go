package contend

import (
	"slices"

	"github.com/troupe-go/troupe/machine"
)

// wanted is a claim of the instance.
type wanted struct {
	id    machine.Claim
	once  bool
	try   bool
	since uint64 // number of the last request before it; see newerThan
}

// newerThan tells whether the claim was made after the request of that number. Then the answer is
// no reason to refuse a Try: the contenders that it shows may have left before the claim was made.
func (w wanted) newerThan(ask uint64) bool { return ask <= w.since }

// rotate goes on to the next claim after a possession: a claim that is Once has ended, any other
// goes to the back.
func (m *Machine) rotate() {
	c := m.claims[0]
	m.claims = m.claims[1:]
	if !c.once {
		m.claims = append(m.claims, c)
	}
}

// settleAll settles all claims with an error.
func (m *Machine) settleAll(err error) []machine.Effect {
	var all []machine.Effect
	for _, c := range m.claims {
		all = append(all, machine.Settle{Claim: c.id, Err: err})
	}
	m.claims = nil
	return all
}

func (m *Machine) onWanted(e machine.Wanted) {
	if e.Try && len(m.claims) > 0 {
		m.requests.Emit(machine.Settle{Claim: e.Claim, Err: machine.ErrHeld})
		return
	}
	m.claims = append(m.claims, wanted{id: e.Claim, once: e.Once, try: e.Try, since: m.requests.Last()})
	switch {
	case m.state == Idle:
		m.enter()
	case m.state == Entering && len(m.claims) == 1:
		// The znode that is being created was for a claim that is withdrawn, and is now for this
		// one. The withdrawn one is settled now, or when the znode of its last possession is
		// deleted.
		effects := m.entry.whenGone
		m.entry.whenGone = nil
		if m.replaced.path != "" {
			m.replaced.after(effects...)
			return
		}
		m.requests.Emit(effects...)
	}
}

func (m *Machine) onWithdrawn(e machine.Withdrawn) {
	if m.entry.settles(e.Claim) || m.replaced.settles(e.Claim) {
		return
	}
	if e.Lost && m.holds(e.Claim) {
		m.entry.lost = true
	}
	settle := machine.Settle{Claim: e.Claim}
	withdrawn := func(c wanted) bool { return c.id == e.Claim }
	first := len(m.claims) > 0 && withdrawn(m.claims[0])
	m.claims = slices.DeleteFunc(m.claims, withdrawn)
	none := len(m.claims) == 0
	switch {
	case first && placed(m.state) && (m.state == Holding || none): // the znode is for no other claim
		m.entry.after(settle)
		m.leave()
	case first && m.state == Entering && none, first && m.state == Downgrading && m.entry.of == e.Claim:
		m.entry.after(settle) // onEntered or onDowngraded deletes the znode
	default: // the znode, if any, is another claim's; one of an earlier possession may be being deleted
		if none {
			m.strategy.unwanted()
		}
		m.doWhenGone(e.Claim, settle)
	}
}

func (m *Machine) onReleased(e machine.Released) {
	freed := machine.Freed{Claim: e.Claim}
	if !m.holds(e.Claim) {
		m.doWhenGone(e.Claim, freed)
		return
	}
	m.entry.after(freed)
	m.rotate()
	m.leave()
}

// onHoldEnded handles a lost possession. Its znode exists, and must not be granted again.
func (m *Machine) onHoldEnded(e machine.HoldEnded) {
	if !m.holds(e.Claim) {
		return
	}
	m.rotate()
	m.entry.lost = true
	if len(m.claims) == 0 {
		m.leave()
		return
	}
	m.strategy.ended()
}

// onDeferred takes a grant back. The znode is kept, and granted again when the session is trusted;
// or its end is told, if the session knew of that before the machine.
func (m *Machine) onDeferred(e machine.Deferred) {
	if !m.holds(e.Claim) {
		return
	}
	m.session.refused = true
	m.requests.Cancel(request{kind: pausing})
	m.entry.of, m.entry.told = 0, false
	m.state = Checking
	m.strategy.advance()
}

// holds tells whether the claim has a possession.
func (m *Machine) holds(c machine.Claim) bool { return m.state == Holding && m.claims[0].id == c }

// possessed tells whether the first claim has a possession of the own znode, or is about to have it
// again as a reader.
func (m *Machine) possessed() bool {
	return (m.state == Holding || m.state == Downgrading) && len(m.claims) > 0 && m.claims[0].id == m.entry.of
}
