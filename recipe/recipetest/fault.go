package recipetest

import (
	"errors"
	"slices"

	"github.com/troupe-go/troupe/machine"
)

// Disconnect takes the connection away. Answers that were not delivered are lost: reads are asked
// again after [Actor.Reconnect], writes are then answered with Unknown. Of the writes that were not
// carried out yet, some never are, as the world chooses.
func (a *Actor) Disconnect() {
	if a.killed || !a.up {
		return
	}
	a.up = false
	a.world.log("%s is disconnected", a.Name)
	for _, d := range slices.Clone(a.inbox) {
		if d.retry == nil || d.done {
			continue
		}
		a.inbox = slices.DeleteFunc(a.inbox, func(o *delivery) bool { return o == d })
		d.done = true // no other delivery waits for it
		a.lost(d.retry)
	}
	for _, r := range slices.Clone(a.requests) {
		if a.world.choose(2) == 0 {
			a.requests = slices.DeleteFunc(a.requests, func(o *request) bool { return o == r })
			a.lost(r)
		}
	}
	a.notice(machine.Suspended{Epoch: a.epochs})
}

// lost handles a lost answer: the outcome of a transaction is unknown, any other request is
// repeated.
func (a *Actor) lost(r *request) {
	if r.orphan {
		return
	}
	if t, ok := r.effect.(machine.Transact); ok {
		ev := machine.Transacted{Epoch: t.Epoch, Ask: t.Ask, Code: machine.Unknown, Failed: -1, Err: errUnknown}
		a.inbox = append(a.inbox, &delivery{event: ev, epoch: t.Epoch, retry: r})
		return
	}
	r.answers = nil
	a.requests = append(a.requests, r)
}

// Reconnect brings the connection back.
func (a *Actor) Reconnect() {
	if a.killed || a.up || !a.sessionLives {
		return
	}
	a.up = true
	a.world.log("%s is reconnected", a.Name)
	a.notice(machine.Resumed{Epoch: a.epochs})
}

// Distrust ends trust, and with it every possession. Entrust brings trust back.
func (a *Actor) Distrust() {
	if a.killed || !a.sessionLives || !a.trusted {
		return
	}
	a.trusted = false
	a.world.log("%s is not trusted", a.Name)
	a.lapse()
	a.notice(machine.TrustEnded{Epoch: a.epochs})
}

// Entrust brings trust back, for possessions to come.
func (a *Actor) Entrust() {
	if a.killed || !a.sessionLives || a.trusted {
		return
	}
	a.trusted = true
	a.notice(machine.TrustGained{Epoch: a.epochs})
}

// Expire ends the ZooKeeper session: possessions first, then its znodes. The machine is told of it,
// and of the next epoch, by later deliveries.
func (a *Actor) Expire() {
	if a.killed || !a.sessionLives {
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
	for _, d := range a.inbox {
		if t, ok := d.event.(machine.Transacted); ok && t.Code == machine.Unknown {
			d.done = true // EpochEnded comes instead
		}
	}
	a.inbox = slices.DeleteFunc(a.inbox, func(d *delivery) bool { return d.done })
	a.notice(machine.EpochEnded{Epoch: a.epochs})
	a.begin()
}

// begin opens the next epoch.
func (a *Actor) begin() {
	a.epochs++
	a.world.sessions++
	a.session, a.sessionLives, a.up, a.trusted = a.world.sessions, true, true, true
	a.watches = make(map[watch]*delivery)
	a.notice(machine.EpochBegan{Epoch: a.epochs, SessionID: a.session, Trusted: true})
}

// Crash lets the machine panic, and starts a fresh one. The order matters: possessions end; pending
// transactions are carried out now or never, those that make an ephemeral znode in any case, so
// that the deletion of all ephemeral znodes, which follows, finds it. Other pending requests may be
// carried out later. The fresh machine is told the epoch, the intents, and the events that were in
// the mailbox.
func (a *Actor) Crash() {
	if a.killed || a.stopped {
		return
	}
	a.world.log("%s has crashed", a.Name)
	a.lapse()
	var intents []*delivery
	for _, d := range a.inbox {
		if d.epoch == 0 && !isNotice(d.event) {
			intents = append(intents, &delivery{event: d.event}) // it is still in the mailbox
		}
	}
	a.inbox, a.timers, a.watches = nil, make(map[uint64]int64), make(map[watch]*delivery)
	for _, r := range slices.Clone(a.requests) {
		r.orphan = true
		switch _, transaction := r.effect.(machine.Transact); {
		case makesEphemeral(r.effect), a.world.choose(2) == 0:
			a.world.carryOut(a, r)
		case transaction: // carried out by now, or never
			a.requests = slices.DeleteFunc(a.requests, func(o *request) bool { return o == r })
		}
	}
	a.world.deleteAll(a.world.tree.Ephemerals(a.session), a)
	a.machine = a.Player.Machine()
	a.epoch = 0
	if a.sessionLives {
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
	for _, d := range intents {
		a.Tell(d.event)
	}
}

func makesEphemeral(e machine.Effect) bool {
	t, ok := e.(machine.Transact)
	return ok && slices.ContainsFunc(t.Ops, func(o machine.Op) bool { return o.Ephemeral })
}

// isNotice tells whether an event is one of the session, which a fresh machine is not told.
func isNotice(ev machine.Event) bool {
	switch ev.(type) {
	case machine.EpochBegan, machine.EpochEnded, machine.Suspended, machine.Resumed, machine.TrustEnded, machine.TrustGained, machine.Fired:
		return true
	}
	return false
}

// Kill ends the process. Its session expires at [World.Bury].
func (a *Actor) Kill() {
	if a.killed {
		return
	}
	a.world.log("%s is dead", a.Name)
	a.lapse()
	a.killed = true
	for _, r := range slices.Clone(a.requests) {
		if a.world.choose(2) == 0 { // it was on the wire
			a.world.carryOut(a, r)
		}
	}
	a.requests, a.inbox, a.timers = nil, nil, nil
}

// KillMidway is Kill while a server still has all requests of the process to carry out: each of
// them may be carried out at any time until [World.Bury], or never.
func (a *Actor) KillMidway() {
	if a.killed || !a.up {
		a.Kill()
		return
	}
	a.world.log("%s is dead, and has requests under way", a.Name)
	a.lapse()
	a.killed = true
	a.inbox, a.timers = nil, nil
}

// ErrRefused is what [Actor.Refuse] and [World.Bar] answer with, and to what is too large.
var ErrRefused = errors.New("not permitted")

// Refuse refuses the oldest pending request that which picks, as if a right were missing for a
// moment; false if there is none. It is for [machine.List], [machine.Read], [machine.MultiRead],
// with all its queries, [machine.Transact] and [machine.Ensure].
func (a *Actor) Refuse(which func(machine.Effect) bool) bool {
	if a.killed || !a.up || !a.sessionLives {
		return false
	}
	for i, r := range a.requests {
		if r.orphan || !which(r.effect) {
			continue
		}
		refusal := refused(r.effect)
		if refusal == nil {
			continue
		}
		a.requests = append(a.requests[:i:i], a.requests[i+1:]...)
		a.world.log("%s is refused %s", a.Name, formatted{r.effect})
		a.post(refusal, r.epoch, r)
		return true
	}
	return false
}

// refused is the answer to a refused request; nil if it is never refused.
func refused(e machine.Effect) machine.Event {
	switch e := e.(type) {
	case machine.List:
		return machine.Listed{Epoch: e.Epoch, Ask: e.Ask, Path: e.Path, Code: machine.Refused, Err: ErrRefused}
	case machine.Read:
		return machine.Seen{Epoch: e.Epoch, Ask: e.Ask, Path: e.Path, Code: machine.Refused, Err: ErrRefused}
	case machine.MultiRead:
		l := machine.MultiSeen{Epoch: e.Epoch, Ask: e.Ask}
		for i := range e.Queries {
			l.Answers = append(l.Answers, refused(single(e, i)))
		}
		return l
	case machine.Transact:
		return machine.Transacted{Epoch: e.Epoch, Ask: e.Ask, Code: machine.Refused, Failed: -1, Err: ErrRefused}
	case machine.Ensure:
		return machine.Ensured{Epoch: e.Epoch, Ask: e.Ask, Code: machine.Refused, Err: ErrRefused}
	}
	return nil
}

// Bar takes all rights to a znode away from all processes until [World.Unbar]: it cannot be read,
// listed, checked or written, and its children cannot be made, or deleted except with their
// session.
func (w *World) Bar(path string) {
	w.log("an administrator bars %s", path)
	if w.barred == nil {
		w.barred = make(map[string]bool)
	}
	w.barred[path] = true
}

// Unbar gives all rights back.
func (w *World) Unbar() { clear(w.barred) }

// denied is the answer to a request for one barred znode; nil if it is not barred.
func (w *World) denied(e machine.Effect) machine.Event {
	switch e := e.(type) {
	case machine.List:
		if w.barred[e.Path] {
			return refused(e)
		}
	case machine.Read:
		if w.barred[e.Path] {
			return refused(e)
		}
	case machine.Ensure:
		if w.barred[parent(e.Path)] && !w.Exists(e.Path) {
			return refused(e)
		}
	}
	return nil
}

// forbids tells whether an operation needs a right to a barred znode.
func (w *World) forbids(op machine.Op) bool {
	if op.Do == machine.Create || op.Do == machine.Delete {
		return w.barred[parent(op.Path)]
	}
	return w.barred[op.Path]
}

// largest is the size of the largest transaction that a server accepts.
const largest = 1<<20 - 1

// tooLarge tells whether a transaction is larger. Each operation takes some bytes beside its path
// and data.
func tooLarge(ops []machine.Op) bool {
	size := 0
	for _, op := range ops {
		size += 48 + len(op.Path) + len(op.Data)
	}
	return size > largest
}
