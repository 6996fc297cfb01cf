package contend

import (
	"slices"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
)

// entry is a znode of this machine.
type entry struct {
	// Which znode it is; empty until the create is answered.
	path      string
	name      string
	czxid     int64 // 0: not known yet
	inherited bool  // the czxid is that of the writer's znode that it replaced
	unread    bool  // a reply told that it is ours: see told in decide.go; of several contenders also: no read was answered since

	// What its data say, and how often in a row they could not be read while it is held.
	revoked bool // they ask the holder to release
	mark    mark // of a semaphore's
	tries   int

	// The possession.
	of       machine.Claim    // the claim that it was granted to; 0: none
	told     bool             // the holder was told that it is revoked
	lost     bool             // the possession was lost
	whenGone []machine.Effect // to be emitted when the znode is deleted, also if it was never granted
}

// at sets the path.
func (e *entry) at(path string) {
	e.path = path
	_, e.name = znode.Split(path)
}

// after adds effects to be emitted when it is deleted.
func (e *entry) after(effects ...machine.Effect) { e.whenGone = append(e.whenGone, effects...) }

// settles tells whether the claim has ended, and will be settled when the znode is deleted.
func (e *entry) settles(c machine.Claim) bool {
	return slices.ContainsFunc(e.whenGone, func(effect machine.Effect) bool {
		s, ok := effect.(machine.Settle)
		return ok && s.Claim == c
	})
}

// tellRevoked tells the holder, once, that it is asked to release.
func (e *entry) tellRevoked(r *machine.Requests[request]) {
	if e.revoked && !e.told {
		e.told = true
		r.Emit(machine.Revoked{Claim: e.of})
	}
}

// saw records the answer to a read of it.
func (e *entry) saw(seen machine.Seen) {
	if !e.inherited {
		e.czxid = seen.Stat.Czxid
	}
	e.revoked = e.revoked || znode.Revoked(seen.Data)
}

// enter creates the own znode, in place of the one in replaced, if any.
func (m *Machine) enter() {
	m.state = Entering
	m.blockers = 0
	m.strategy.entering(m.ask(machine.Enter{Replace: m.replaced.path}, readingNames))
}

// dropOwn forgets the own znode, which is gone, or is being replaced.
func (m *Machine) dropOwn() {
	m.entry, m.ahead = entry{}, unknown
	m.session.refused = false // the refusal may have been about this znode
	m.requests.Forget(request{kind: marking})
	m.requests.Cancel(request{kind: pausing})
	if m.delay != nil {
		m.delay.reset()
	}
}

// enterAnew goes on without a znode: if there is a claim, it creates another.
func (m *Machine) enterAnew() {
	m.dropOwn()
	if len(m.claims) == 0 {
		m.state = Idle
		m.blockers = 0
		return
	}
	m.enter()
}

func (m *Machine) onEntered(e machine.Entered) {
	if m.state != Entering {
		return
	}
	replaced := m.replaced
	m.replaced = entry{}
	if e.Err != nil {
		if !m.strategy.occupied(e.Err) {
			m.enterFailed(e.Err, replaced)
		}
		return
	}
	m.requests.Emit(replaced.whenGone...)
	m.entry.at(e.Path)
	if e.Czxid != 0 && e.Owner == m.session.id { // otherwise the reply did not tell
		m.entry.czxid, m.entry.unread = e.Czxid, true
	}
	if len(m.claims) == 0 {
		m.leave()
		return
	}
	m.strategy.entered()
}

// enterFailed handles a failed create. The znode that was to be replaced may still exist.
func (m *Machine) enterFailed(err error, replaced entry) {
	effects := slices.Concat(m.entry.whenGone, m.settleAll(err))
	m.strategy.forget()
	if replaced.path != "" {
		m.entry = replaced
		m.entry.after(effects...)
		m.leave()
		return
	}
	m.requests.Emit(effects...)
	m.enterAnew()
}

// watch reads a path with a watch.
func (m *Machine) watch(path string) {
	m.watches.read(machine.Read{Path: path, Watch: true})
}

// rewatch is watch, but does not rely on a read that is pending already.
func (m *Machine) rewatch(path string) {
	if !m.watches.overtaken(path) {
		m.watch(path)
	}
}

// first goes to Ready, since the own znode may hold. It grants, unless the session is not trusted,
// the host has refused a grant, or the record is being written. Until the grant the znode is
// watched.
func (m *Machine) first() {
	m.state = Ready
	if m.session.trusted && !m.session.refused && (m.delay == nil || !m.delay.asked) {
		m.grant()
	}
	if m.state == Ready && m.watches.of(m.entry.path) == nil {
		m.watch(m.entry.path)
	}
}

// soon is how many milliseconds after the grant the znode is read with a watch. A possession that
// is released by then costs no read.
const soon = 5

// grant grants the own znode to the first claim.
func (m *Machine) grant() {
	c := m.claims[0].id
	m.strategy.forget()
	if m.delay != nil && !m.delay.passes(c) {
		return
	}
	if m.watches.of(m.entry.path) == nil {
		m.ask(machine.Wake{After: soon}, pausing)
	}
	m.state = Holding
	m.entry.of = c
	m.requests.Emit(machine.Grant{Epoch: m.requests.Epoch(), Claim: c, Path: m.entry.path, Token: m.entry.czxid})
	m.entry.tellRevoked(&m.requests)
}

// leave deletes the own znode.
func (m *Machine) leave() {
	m.requests.Cancel(request{kind: pausing})
	m.strategy.forget()
	m.state = Leaving
	m.blockers = 0
	if m.delay != nil {
		m.delay.leave()
		return
	}
	m.requests.Emit(machine.Remove{Epoch: m.requests.Epoch(), Path: m.entry.path})
}

func (m *Machine) onLeft(e machine.Removed) {
	if m.state != Leaving || e.Path != m.entry.path {
		return
	}
	m.requests.Emit(m.entry.whenGone...)
	m.enterAnew()
}

// ownGone goes on when the own znode is gone, or was never ours.
func (m *Machine) ownGone() {
	if m.possessed() {
		m.requests.Emit(machine.End{Claim: m.claims[0].id, Cause: machine.EndDeleted})
		m.rotate()
	}
	m.enterAnew()
}

// unwatched ends a possession whose znode cannot be read: its deletion would not be noticed.
func (m *Machine) unwatched(err error) {
	m.requests.Emit(machine.End{Claim: m.claims[0].id, Cause: machine.EndUnwatched, Err: err})
	m.rotate()
	m.entry.lost = true
	m.fail(err)
}

// fail settles every claim with a definite error once the own znode is gone.
func (m *Machine) fail(err error) {
	m.entry.after(m.settleAll(err)...)
	m.leave()
}

// refuse ends the first claim with an error. The next one takes its znode over.
func (m *Machine) refuse(err error) {
	settle := machine.Settle{Claim: m.claims[0].id, Err: err}
	m.claims = m.claims[1:]
	if len(m.claims) > 0 {
		m.requests.Emit(settle)
		return
	}
	m.entry.after(settle)
	m.leave()
}

// doWhenGone emits an effect about a claim when the znode of the claim's last possession is
// deleted: at once, if that is not being deleted now.
func (m *Machine) doWhenGone(c machine.Claim, effect machine.Effect) {
	switch {
	case m.state == Leaving && m.entry.of == c:
		m.entry.after(effect)
	case m.replaced.path != "" && m.replaced.of == c:
		m.replaced.after(effect)
	default:
		m.requests.Emit(effect)
	}
}
