package prio

import (
	"slices"
	"strings"

	"github.com/troupe-go/troupe/machine"
)

// look is one round of reads for a decision: the listing, the state and the own znode, and then the
// znode to watch.
type look struct {
	first             uint64 // the first request of this round
	names             []string
	holders           []string
	version           int32 // of the state
	listed, read, own bool
	token             int64  // Mzxid of the own znode: the token, if it holds
	front             string // the waiter ahead that is watched
	heads             bool   // no waiter is ahead: the children are watched
	fresh             bool   // the listing was requested after the state was read
}

// lookAgain starts a new round of reads. Replies to an older round are ignored.
func (m *lockMachine) lookAgain() []machine.Effect {
	m.phase = looking
	m.look = look{first: m.ask()}
	return []machine.Effect{
		machine.List{Epoch: m.epoch, Ask: m.look.first, Path: m.line},
		machine.Read{Epoch: m.epoch, Ask: m.ask(), Path: m.state},
		machine.Read{Epoch: m.epoch, Ask: m.ask(), Path: m.line + "/" + m.own, Watch: true},
	}
}

// ours reports whether a reply belongs to this round.
func (m *lockMachine) ours(epoch, ask uint64) bool {
	return m.phase == looking && epoch == m.epoch && ask >= m.look.first
}

func (m *lockMachine) onListed(ev machine.Listed) []machine.Effect {
	switch {
	case m.phase == standing && m.current(ev.Epoch, ev.Ask):
		return m.onSearched(ev)
	case !m.ours(ev.Epoch, ev.Ask):
		return nil
	case ev.Code == machine.NoNode:
		return m.stand() // the parent is gone, and so is the own znode
	case ev.Code != machine.Done:
		return m.fail(ev.Err)
	}
	m.look.names, m.look.listed = ev.Names, true
	return m.decide()
}

func (m *lockMachine) onSeen(ev machine.Seen) []machine.Effect {
	own := ev.Path == m.line+"/"+m.own
	switch {
	case m.phase == holding && own && ev.Epoch == m.epoch:
		return m.onOwn(ev)
	case !m.ours(ev.Epoch, ev.Ask):
		return nil
	case ev.Code != machine.Done:
		return m.fail(ev.Err)
	case own && !ev.Exists:
		return m.stand()
	case own:
		m.look.own, m.look.token = true, ev.Stat.Mzxid
	case ev.Path == m.state && !ev.Exists:
		return []machine.Effect{machine.Ensure{Epoch: m.epoch, Ask: m.ask(), Path: m.state}}
	case ev.Path == m.state:
		m.look.read, m.look.version, m.look.holders = true, ev.Stat.Version, strings.Fields(string(ev.Data))
	case !ev.Exists || len(ev.Data) > 0: // the waiter ahead is gone, or holds
		return m.lookAgain()
	default:
		m.phase = waiting
		return nil
	}
	return m.decide()
}

// decide decides when all replies of the round have arrived.
func (m *lockMachine) decide() []machine.Effect {
	if !m.look.listed || !m.look.read || !m.look.own {
		return nil
	}
	var all []contender
	var me contender
	for _, name := range m.look.names {
		c, ok := parse(name)
		if ok && name == m.own {
			me = c
		} else if ok {
			all = append(all, c)
		}
	}
	if me.name == "" { // the listing is older than the znode, or the znode was deleted
		return m.lookAgain()
	}
	holds := func(c contender) bool { return slices.Contains(m.look.holders, c.name) }
	if holds(me) {
		return m.hold(m.look.token)
	}
	if !m.look.fresh && slices.ContainsFunc(m.look.holders, func(name string) bool { return m.mayHaveCome(name, me) }) {
		m.look.fresh, m.look.listed = true, false
		return []machine.Effect{machine.List{Epoch: m.epoch, Ask: m.ask(), Path: m.line}}
	}
	var front contender
	var holders []contender
	for _, c := range all {
		switch {
		case holds(c):
			holders = append(holders, c)
		case compare(c, me) < 0 && (front.name == "" || compare(c, front) > 0):
			front = c
		}
	}
	if front.name != "" {
		m.look.front = front.name
		return []machine.Effect{machine.Read{Epoch: m.epoch, Ask: m.ask(), Path: m.line + "/" + front.name, Watch: true}}
	}
	return m.atTheHead(me, holders)
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
func (m *lockMachine) atTheHead(me contender, holders []contender) []machine.Effect {
	shares := !slices.ContainsFunc(holders, func(c contender) bool { return c.mode == Write || me.mode == Write })
	switch {
	case shares && m.trusted:
		return m.take(holders)
	case !m.look.heads:
		m.look.heads, m.look.fresh = true, true
		return []machine.Effect{machine.List{Epoch: m.epoch, Ask: m.ask(), Path: m.line, Watch: true}}
	}
	m.phase = waiting
	var all []machine.Effect
	for _, c := range holders {
		if c.priority > me.priority && !m.warned[c.name] {
			m.warned[c.name] = true
			set := machine.Op{Do: machine.Set, Path: m.line + "/" + c.name, Data: []byte(revoke + " for " + m.own), Version: machine.Any}
			all = append(all, machine.Transact{Epoch: m.epoch, Ops: []machine.Op{set}}) // the outcome does not matter: the children are watched
		}
	}
	return all
}

func (m *lockMachine) onFired(ev machine.Fired) []machine.Effect {
	own := ev.Path == m.line+"/"+m.own
	switch {
	case ev.Epoch != m.epoch:
		return nil
	case m.phase == holding && own && ev.Change == machine.Deleted:
		return m.lose()
	case m.phase == holding && own:
		return []machine.Effect{m.readOwn()}
	case m.phase != looking && m.phase != waiting:
		return nil
	case own && ev.Change == machine.Deleted:
		return m.stand()
	}
	return m.lookAgain()
}
