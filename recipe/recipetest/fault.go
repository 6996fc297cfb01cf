package recipetest

import (
	"slices"

	"github.com/troupe-go/troupe/machine"
)

// Disconnect takes the connection away. Answers under way are lost: reads are asked again after
// [Actor.Reconnect], writes are then answered Unknown; of those that were not carried out yet some
// never will be, as the world chooses.
func (a *Actor) Disconnect() {
	if a.dead || !a.up {
		return
	}
	a.up = false
	a.world.log("%s is disconnected", a.Name)
	for _, l := range slices.Clone(a.inbox) {
		if l.retry == nil || l.done {
			continue
		}
		a.inbox = slices.DeleteFunc(a.inbox, func(o *envelope) bool { return o == l })
		l.done = true // nothing waits for it
		a.lost(l.retry)
	}
	for _, r := range slices.Clone(a.requests) {
		if a.world.choose(2) == 0 {
			a.requests = slices.DeleteFunc(a.requests, func(o *request) bool { return o == r })
			a.lost(r)
		}
	}
	a.notice(machine.Suspended{Epoch: a.epochs})
}

// lost is what becomes of a request whose answer is: what may be repeated is, of a transaction the
// outcome is unknown.
func (a *Actor) lost(r *request) {
	if r.orphan {
		return
	}
	if t, ok := r.effect.(machine.Transact); ok {
		ev := machine.Transacted{Epoch: t.Epoch, Ask: t.Ask, Code: machine.Unknown, Failed: -1, Err: errUnknown}
		a.inbox = append(a.inbox, &envelope{event: ev, epoch: t.Epoch, retry: r})
		return
	}
	r.looked = nil
	a.requests = append(a.requests, r)
}

// Reconnect brings the connection back.
func (a *Actor) Reconnect() {
	if a.dead || a.up || !a.lives {
		return
	}
	a.up = true
	a.world.log("%s is reconnected", a.Name)
	a.notice(machine.Resumed{Epoch: a.epochs})
}

// Distrust ends trust, and with it every possession; Entrust brings it back.
func (a *Actor) Distrust() {
	if a.dead || !a.lives || !a.trusted {
		return
	}
	a.trusted = false
	a.world.log("%s is not trusted", a.Name)
	a.lapse()
	a.notice(machine.TrustEnded{Epoch: a.epochs})
}

// Entrust brings trust back, for possessions to come.
func (a *Actor) Entrust() {
	if a.dead || !a.lives || a.trusted {
		return
	}
	a.trusted = true
	a.notice(machine.TrustGained{Epoch: a.epochs})
}

// Expire ends the ZooKeeper session: possessions first, then its znodes. The machine hears of it,
// and of the next epoch, when that is delivered.
func (a *Actor) Expire() {
	if a.dead || !a.lives {
		return
	}
	a.world.log("%s has expired", a.Name)
	a.lapse()
	for _, r := range slices.Clone(a.requests) {
		if a.world.choose(2) == 0 { // it was on the wire
			a.world.carryOut(a, r)
		}
	}
	a.requests = nil // none acts in another epoch
	a.world.closeSession(a)
	for _, l := range a.inbox {
		if t, ok := l.event.(machine.Transacted); ok && t.Code == machine.Unknown {
			l.done = true // the epoch is over instead
		}
	}
	a.inbox = slices.DeleteFunc(a.inbox, func(l *envelope) bool { return l.done })
	a.notice(machine.EpochEnded{Epoch: a.epochs})
	a.begin()
}

// begin opens the next epoch.
func (a *Actor) begin() {
	a.epochs++
	a.world.sessions++
	a.session, a.lives, a.up, a.trusted = a.world.sessions, true, true, true
	a.watches = make(map[watch]*envelope)
	a.notice(machine.EpochBegan{Epoch: a.epochs, SessionID: a.session, Trusted: true})
}

// Crash lets the machine panic: possessions end, transactions that are under way are carried out at
// once or never, other requests may still be, its ephemeral znodes go, and a fresh machine takes up
// the wishes.
func (a *Actor) Crash() {
	if a.dead || a.stopped {
		return
	}
	a.world.log("%s has crashed", a.Name)
	a.lapse()
	var wishes []*envelope
	for _, l := range a.inbox {
		if l.epoch == 0 && !notice(l.event) {
			wishes = append(wishes, &envelope{event: l.event}) // in the mailbox still
		}
	}
	a.inbox, a.timers, a.watches = nil, make(map[uint64]int64), make(map[watch]*envelope)
	for _, r := range slices.Clone(a.requests) {
		r.orphan = true
		switch _, transaction := r.effect.(machine.Transact); {
		case births(r.effect), a.world.choose(2) == 0:
			a.world.carryOut(a, r)
		case transaction: // it is waited for: carried out by now, or never
			a.requests = slices.DeleteFunc(a.requests, func(o *request) bool { return o == r })
		}
	}
	a.world.deleteAll(a.world.tree.Ephemerals(a.session), a)
	a.machine = a.Player.Machine()
	a.epoch = 0
	if a.lives {
		a.epoch = a.epochs
		a.step(machine.EpochBegan{Epoch: a.epochs, SessionID: a.session, Trusted: a.trusted})
		if !a.up {
			a.step(machine.Suspended{Epoch: a.epochs})
		}
	}
	if a.Standing != nil {
		for _, ev := range a.Standing() {
			a.step(ev)
		}
	}
	for _, l := range wishes {
		a.Tell(l.event)
	}
}

func births(e machine.Effect) bool {
	t, ok := e.(machine.Transact)
	return ok && slices.ContainsFunc(t.Ops, func(o machine.Op) bool { return o.Ephemeral })
}

func notice(ev machine.Event) bool {
	switch ev.(type) {
	case machine.EpochBegan, machine.EpochEnded, machine.Suspended, machine.Resumed, machine.TrustEnded, machine.TrustGained, machine.Fired:
		return true
	}
	return false
}

// Kill ends the process. Its session expires at [World.Bury].
func (a *Actor) Kill() {
	if a.dead {
		return
	}
	a.world.log("%s is dead", a.Name)
	a.lapse()
	a.dead = true
	for _, r := range slices.Clone(a.requests) {
		if a.world.choose(2) == 0 { // it was on the wire
			a.world.carryOut(a, r)
		}
	}
	a.requests, a.inbox, a.timers = nil, nil, nil
}

// KillMidway is Kill where a server has all the process's requests still to carry out: each may
// come at any time, or never, until [World.Bury].
func (a *Actor) KillMidway() {
	if a.dead || !a.up {
		a.Kill()
		return
	}
	a.world.log("%s is dead, and has requests under way", a.Name)
	a.lapse()
	a.dead = true
	a.inbox, a.timers = nil, nil
}
