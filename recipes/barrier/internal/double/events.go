package double

import (
	"slices"

	"github.com/troupe-go/troupe/machine"
)

func (m *Machine) onWish(ev machine.Event) {
	switch ev := ev.(type) {
	case Wanted:
		if m.fresh(ev.Claim) && !m.closing {
			m.claims = append(m.claims, ev)
			if m.state == Idle {
				m.proceed()
			}
		}
	case Followed:
		if m.fresh(ev.Claim) && !m.closing {
			m.onFollowed(ev)
		}
	case Withdrawn:
		m.onWithdrawal(ev.Claim)
	case Departed:
		if m.state == Inside && m.stay.claim == ev.Claim {
			m.mark(m.stay.me)
		}
	case Deferred:
		m.onDeferred(ev)
	}
}

// onDeferred: no passage came of the claim. If its round cannot be entered any more, or is over, it
// stands again.
func (m *Machine) onDeferred(ev Deferred) {
	mine := m.stay != nil && m.stay.claim == ev.Claim
	switch {
	case mine && m.state == Inside && m.stay.regained:
		m.enter()
	case mine && m.state == Inside:
		m.state = Ready
	case !m.closing && !slices.Contains(m.claims, Wanted(ev)): // it is there already if the word of it has outlived a crash
		if mine {
			m.stay.claim = 0
		}
		m.claims = slices.Insert(m.claims, 0, Wanted(ev))
		if m.state == Idle {
			m.proceed()
		}
	}
}

// fresh tells whether the number is new.
func (m *Machine) fresh(number uint64) bool {
	if number <= m.newest {
		return false
	}
	m.newest = number
	return true
}

// onFollowed takes up a round that an earlier incarnation was in. The face tells of it before all
// claims, and of one at most.
func (m *Machine) onFollowed(ev Followed) {
	me, member := position(ev.Names, ev.Own)
	if m.stay != nil || !member {
		return
	}
	m.stay = &stay{claim: ev.Claim, round: ev.Round, names: ev.Names, me: me}
	if m.state == Idle {
		m.proceed()
	}
}

func (m *Machine) onWithdrawal(claim uint64) {
	m.claims = slices.DeleteFunc(m.claims, func(c Wanted) bool { return c.Claim == claim })
	if m.stay != nil && m.stay.claim == claim {
		m.stay.claim = 0
	}
	switch {
	case (m.state == Ready || m.state == Inside) && m.stay.claim == 0:
		m.mark(m.stay.me)
	case len(m.claims) > 0:
	case m.state == Waiting:
		m.judge()
	}
}

// onTrust: possessions may be possible now. Word that the last one asked for was not may still be
// on its way.
func (m *Machine) onTrust() {
	switch m.state {
	case Ready:
		m.enter()
	case Inside:
		m.stay.regained = true
	}
}

func (m *Machine) onClosing() {
	m.closing, m.claims = true, nil
	switch m.state {
	case Out, Idle, Looking, Sweeping, Founding:
		m.emit(machine.Stop{})
	case Waiting:
		m.judge()
	case Ready, Inside:
		m.mark(m.stay.me)
	case Following, Leaving:
		m.vanish()
	}
}

func (m *Machine) onFired(ev machine.Fired) {
	gone := ev.Change == machine.Deleted
	switch m.state {
	case Waiting, Counting, Deciding:
		switch {
		case ev.Path == m.own() && gone:
			m.ownGone()
		case ev.Path == m.roundPath():
			m.onRoundFired()
		}
	case Ready, Inside:
		if ev.Path == m.party(m.stay.me) && gone {
			m.ownGone()
		}
	case Leaving:
		switch {
		case ev.Path != m.party(m.stay.at):
		case gone:
			m.mark(m.stay.at)
		default:
			m.over()
		}
	}
}

func (m *Machine) onRoundFired() {
	if m.state == Waiting {
		m.reread(false)
	} else {
		m.place.stale = true
	}
}
