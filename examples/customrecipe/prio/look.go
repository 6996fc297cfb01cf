package prio

import (
	"slices"
	"strings"

	"github.com/troupe-go/troupe/machine"
)

// look is one round of reads for a decision: the listing, the state and the own znode, and then the
// znode to watch.
type look struct {
	names              []string
	holders            []string
	version            int32 // of the state
	listed, read, self bool
	token              int64 // Mzxid of the own znode: the token, if it holds
	heads              bool  // no waiter is ahead: the children are watched
	fresh              bool  // the listing was requested after the state was read
}

// lookAgain starts a new round of reads. They replace those of an older round.
func (m *lockMachine) lookAgain() {
	m.phase, m.look = looking, look{}
	m.requests.Forget(readingFront)
	m.requests.Ask(machine.List{Path: m.line}, listing)
	m.requests.Ask(machine.Read{Path: m.state}, readingState)
	m.readOwn()
}

func (m *lockMachine) onListed(key purpose, ev machine.Listed) {
	switch {
	case key == creating:
		m.onSearched(ev)
	case m.phase != looking:
	case ev.Code == machine.NoNode:
		m.stand() // the parent is gone, and so is the own znode
	case ev.Code != machine.Done:
		m.fail(ev.Err)
	default:
		m.look.names, m.look.listed = ev.Names, true
		m.decide()
	}
}

func (m *lockMachine) onSeen(key purpose, ev machine.Seen) {
	switch {
	case m.phase == holding && key == readingOwn:
		m.onOwn(ev)
	case m.phase != looking:
	case ev.Code != machine.Done:
		m.fail(ev.Err)
	case key == readingOwn && !ev.Exists:
		m.stand()
	case key == readingOwn:
		m.look.self, m.look.token = true, ev.Stat.Mzxid
		m.decide()
	case key == readingState && !ev.Exists:
		m.requests.Ask(machine.Ensure{Path: m.state}, readingState)
	case key == readingState:
		m.look.read, m.look.version, m.look.holders = true, ev.Stat.Version, strings.Fields(string(ev.Data))
		m.decide()
	case !ev.Exists || len(ev.Data) > 0: // the waiter ahead is gone, or holds
		m.lookAgain()
	default:
		m.phase = waiting
	}
}

// decide decides when all replies of the round have arrived.
func (m *lockMachine) decide() {
	if !m.look.listed || !m.look.read || !m.look.self {
		return
	}
	var all []contender
	var me contender
	for _, name := range m.look.names {
		c, ok := parse(name)
		if ok && name == m.self {
			me = c
		} else if ok {
			all = append(all, c)
		}
	}
	if me.name == "" { // the listing is older than the znode, or the znode was deleted
		m.lookAgain()
		return
	}
	holds := func(c contender) bool { return slices.Contains(m.look.holders, c.name) }
	if holds(me) {
		m.hold(m.look.token)
		return
	}
	if !m.look.fresh && slices.ContainsFunc(m.look.holders, func(name string) bool { return m.mayHaveCome(name, me) }) {
		m.look.fresh, m.look.listed = true, false
		m.requests.Ask(machine.List{Path: m.line}, listing)
		return
	}
	var ahead contender
	var holders []contender
	for _, c := range all {
		switch {
		case holds(c):
			holders = append(holders, c)
		case compare(c, me) < 0 && (ahead.name == "" || compare(c, ahead) > 0):
			ahead = c
		}
	}
	if ahead.name != "" {
		m.requests.Ask(machine.Read{Path: m.line + "/" + ahead.name, Watch: true}, readingFront)
		return
	}
	m.atTheHead(me, holders)
}

// mayHaveCome reports whether a holder that the listing lacks may have entered after the listing
// and hold the lock now. The listing and the state are read concurrently, so either may be older. A
// holder that entered before this contender would be in a listing that contains this contender, or
// has released.
func (m *lockMachine) mayHaveCome(name string, me contender) bool {
	c, ok := parse(name)
	before := c.number >= 0 && c.number < me.number
	return ok && !before && !slices.Contains(m.look.names, name)
}

// atTheHead decides for a contender with no waiter ahead of it.
func (m *lockMachine) atTheHead(me contender, holders []contender) {
	shares := !slices.ContainsFunc(holders, func(c contender) bool { return c.mode == Write || me.mode == Write })
	switch {
	case shares && m.trusted:
		m.take(holders)
		return
	case !m.look.heads:
		m.look.heads, m.look.fresh = true, true
		m.requests.Ask(machine.List{Path: m.line, Watch: true}, listing)
		return
	}
	m.phase = waiting
	for _, c := range holders {
		if c.priority > me.priority && !m.warned[c.name] {
			m.warned[c.name] = true
			set := machine.Op{Do: machine.Set, Path: m.line + "/" + c.name, Data: []byte(revoke + " for " + m.self), Version: machine.Any}
			// The outcome does not matter: the children are watched. So it gets no number.
			m.requests.Emit(machine.Transact{Epoch: m.requests.Epoch(), Ops: []machine.Op{set}})
		}
	}
}

func (m *lockMachine) onFired(ev machine.Fired) {
	mine, gone := ev.Path == m.path(), ev.Change == machine.Deleted
	switch {
	case m.phase == holding && mine && gone:
		m.lose()
	case m.phase == holding && mine:
		m.readOwn()
	case m.phase != looking && m.phase != waiting:
	case mine && gone:
		m.stand()
	default:
		m.lookAgain()
	}
}
