package double

import (
	"slices"

	"github.com/troupe-go/troupe/recipe"
)

func (m *Machine) onWish(ev recipe.Event) {
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
		if m.state == Inside && m.stay.claim == ev.Claim {
			m.state = Ready
			if m.stay.regained {
				m.enter()
			}
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

// onFollowed takes up a round that an earlier incarnation was in. The face tells of it before all claims, and of one at most.
func (m *Machine) onFollowed(ev Followed) {
	me, member := position(ev.Names, PartyName(m.cfg.ID))
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
	switch {
	case m.stay != nil && m.stay.claim == claim && (m.state == Ready || m.state == Inside):
		m.stay.claim = 0
		m.mark(m.stay.me)
	case len(m.claims) > 0:
	case m.state == Barred:
		m.proceed()
	case m.state == Waiting:
		m.judge()
	}
}

// onTrust: possessions may be possible now. Word that the last one asked for was not may still be on its way.
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
	case Out, Idle, Looking, Sweeping, Founding, Barred:
		m.emit(recipe.Stop{})
	case Waiting:
		m.judge()
	case Ready, Inside:
		m.mark(m.stay.me)
	case Following, Leaving:
		m.vanish()
	}
}

func (m *Machine) onFired(ev recipe.Fired) {
	gone := ev.Change == recipe.Deleted
	switch m.state {
	case Waiting, Counting, Deciding:
		m.onNews(ev.Path, gone)
	case Barred:
		if ev.Path == m.own() {
			m.find()
		}
	case Ready:
		if ev.Path == m.party(m.stay.me) && gone {
			m.again()
			m.proceed()
		}
	case Inside:
		if ev.Path == m.party(m.stay.me) && gone {
			m.emit(End{Claim: m.stay.claim})
			m.mark(m.stay.me)
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

// onNews is what happens to the own znode and the round while it waits.
func (m *Machine) onNews(path string, gone bool) {
	switch {
	case path == m.own() && gone && m.state == Waiting:
		m.lose()
	case path == m.own() && gone:
		m.place.ownGone = true
	case path == m.roundPath() && m.state == Waiting:
		m.reread(false)
	case path == m.roundPath():
		m.place.stale = true
	}
}
