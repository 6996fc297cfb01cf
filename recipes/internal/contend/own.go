package contend

import (
	"slices"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
)

// own is a znode of this machine's.
type own struct {
	path     string
	name     string
	of       machine.Claim    // whose possession came of it; 0: nobody's
	spent    bool             // a possession came of it before the crash, nobody knows whose
	lost     bool             // its possession ended by itself
	whenGone []machine.Effect // what is to be said when it is deleted

	czxid     int64 // 0: not known yet
	inherited bool  // the czxid is that of the writer's znode in whose place it was put
	unread    bool  // the create told whose it is, and no read of it was answered yet
	revoked   bool  // the data asked its holder to give up
	told      bool  // and the holder was told
	mark      mark  // of a semaphore's
	tries     int   // to read it, while it is held
}

// at fills in where it is.
func (o *own) at(path string) {
	o.path = path
	_, o.name = znode.Split(path)
}

// after adds what is to be said when it is deleted.
func (o *own) after(effects ...machine.Effect) { o.whenGone = append(o.whenGone, effects...) }

// settles: a claim was refused, failed or withdrawn, and is settled as soon as the znode is gone.
func (o *own) settles(c machine.Claim) bool {
	return slices.ContainsFunc(o.whenGone, func(e machine.Effect) bool {
		s, ok := e.(machine.Settle)
		return ok && s.Claim == c
	})
}

// tellRevoked tells the holder, once, that the znode asks it to give up.
func (o *own) tellRevoked(r *requests) {
	if o.revoked && !o.told {
		o.told = true
		r.Emit(machine.Revoked{Claim: o.of})
	}
}

// note keeps what was read of it.
func (o *own) note(e machine.Seen) {
	if !o.inherited {
		o.czxid = e.Stat.Czxid
	}
	o.revoked = o.revoked || znode.Revoked(e.Data)
}

// enter asks for the own znode to be made.
func (m *Machine) enter() {
	m.state = Entering
	m.ahead = 0
	m.strategy.entering(m.ask(machine.Enter{Replace: m.replaced.path}, listing))
}

// dropOwn lets go of the own znode, which is gone, or to be replaced.
func (m *Machine) dropOwn() {
	m.own = own{}
	m.requests.Forget(request{kind: marking}, request{kind: pausing})
	if m.delay != nil {
		m.delay.reset()
	}
}

// enterAnew goes on without a znode: the next claim, if there is one, asks for another.
func (m *Machine) enterAnew() {
	m.dropOwn()
	if len(m.claims) == 0 {
		m.state = Idle
		m.ahead = 0
		return
	}
	m.enter()
}

func (m *Machine) onEntered(e machine.Entered) {
	if m.state != Entering {
		return
	}
	replaced := m.replaced
	m.replaced = own{}
	if e.Err != nil {
		if !m.strategy.occupied(e.Err) {
			m.enterFailed(e.Err, replaced)
		}
		return
	}
	m.do(replaced.whenGone...)
	m.own.at(e.Path)
	if e.Czxid != 0 && e.Owner == m.session.id { // otherwise the answer does not tell
		m.own.czxid, m.own.unread = e.Czxid, true
	}
	if len(m.claims) == 0 {
		m.leave()
		return
	}
	m.strategy.entered()
}

// enterFailed: nothing new stands, but a znode that was to be replaced may.
func (m *Machine) enterFailed(err error, replaced own) {
	effects := slices.Concat(m.own.whenGone, m.claims.fail(err))
	m.strategy.forget()
	if replaced.path != "" {
		m.own = replaced
		m.own.after(effects...)
		m.leave()
		return
	}
	m.do(effects...)
	m.enterAnew()
}

// onRecovered takes over what a crashed incarnation left, if nothing came of it yet, and deletes it
// otherwise.
func (m *Machine) onRecovered(e machine.Recovered) {
	if m.state != Idle {
		m.strategy.on(request{}, e)
		return
	}
	m.own = own{spent: e.Spent}
	m.own.at(e.Path)
	if e.Spent {
		m.leave()
		return
	}
	m.strategy.recovered()
}

// watch reads a path and watches it.
func (m *Machine) watch(path string) {
	m.watches.read(path, !ownUnwatched || path != m.own.path)
}

// rewatch is watch for when an answer under way will not do.
func (m *Machine) rewatch(path string) {
	if !m.watches.overtaken(path) {
		m.watch(path)
	}
}

// first: it is this machine's turn, and the own znode stands. Where a delay is kept, its token has
// to be in the record.
func (m *Machine) first() {
	m.state = Ready
	if m.session.trusted && !m.session.deferred {
		m.grant()
	}
}

// grant makes a possession of the own znode.
func (m *Machine) grant() {
	c := m.claims[0].id
	m.strategy.forget()
	if m.delay != nil && !m.delay.passes(c) {
		return
	}
	m.state = Holding
	m.own.of = c
	m.do(machine.Grant{Epoch: m.epoch(), Claim: c, Path: m.own.path, Token: m.own.czxid})
	m.own.tellRevoked(&m.requests)
}

// leave deletes the own znode.
func (m *Machine) leave() {
	m.strategy.forget()
	m.state = Leaving
	m.ahead = 0
	if m.delay != nil {
		m.delay.leave()
		return
	}
	m.do(machine.Remove{Epoch: m.epoch(), Path: m.own.path})
}

func (m *Machine) onLeft(e machine.Removed) {
	if m.state != Leaving || e.Path != m.own.path {
		return
	}
	m.do(m.own.whenGone...)
	m.enterAnew()
}

// lost: the own znode is gone, or was never ours.
func (m *Machine) lost() {
	if m.possessed() {
		m.do(machine.End{Claim: m.claims[0].id, Cause: machine.EndDeleted})
		m.claims.rotate()
	}
	m.enterAnew()
}

// unwatched: the own znode of a possession can't be read. A possession that could not be ended is
// none.
func (m *Machine) unwatched(err error) {
	m.do(machine.End{Claim: m.claims[0].id, Cause: machine.EndUnwatched, Err: err})
	m.claims.rotate()
	m.own.lost = true
	m.fail(err)
}

// fail settles every claim with a definite error once the own znode is gone.
func (m *Machine) fail(err error) {
	m.own.after(m.claims.fail(err)...)
	m.leave()
}

// refuse ends the first claim with an error. The next one takes its znode over.
func (m *Machine) refuse(err error) {
	settle := m.claims.refuse(err)
	if len(m.claims) > 0 {
		m.do(settle)
		return
	}
	m.own.after(settle)
	m.leave()
}

// doWhenGone says something about a claim as soon as nothing of the claim's last possession stands
// in ZooKeeper.
func (m *Machine) doWhenGone(c machine.Claim, effect machine.Effect) {
	switch {
	case m.state == Leaving && (m.own.of == c || m.own.spent):
		m.own.after(effect)
	case m.replaced.path != "" && m.replaced.of == c:
		m.replaced.after(effect)
	default:
		m.do(effect)
	}
}
