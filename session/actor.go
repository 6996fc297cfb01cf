package session

import (
	"errors"
	"time"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/internal/seam"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// sessionActor is one incarnation of the session's actor: it begins and ends epochs, and tells the
// clients in order of epochs, of the connection and of trust. Answers and events of watches do not
// pass through it.
type sessionActor struct {
	s    *Session
	self actors.Self[message]
	// At most one of these is set; between two epochs neither is.
	epoch  *epoch // the present one
	before *epoch // of the incarnation before; it has ended, and is not known to be gone
	// What the clients have been told of epoch.
	begun   bool               // it has begun...
	began   machine.EpochBegan // ...with this event
	up      bool               // there is a connection
	trusted bool
	// Tries to begin.
	opened time.Time // when the last epoch was opened
	brief  int       // epochs in a row that ended soon
	barren int       // first syncs of this epoch in a row that were refused
	round  int       // counts first syncs, so that the answer to an earlier one is ignored
}

func newSessionActor(s *Session, self actors.Self[message]) *sessionActor {
	g := s.state.lock() // the actor's name is known once spawn has let go of it
	started, last := g.started, g.cur
	g.unlock()
	a := &sessionActor{s: s, self: self}
	switch {
	case self.Incarnation() == 1 || !started:
	case last == nil:
		a.open()
	default:
		a.takeOver(last)
	}
	return a
}

// takeOver begins an incarnation after a crash, with the epoch of the one before. That epoch is
// over, since it is not known what was left undone. But its ZooKeeper session may live on, with
// every znode, until it can be closed. Until ZooKeeper has confirmed the end no client is told of
// it, and no epoch begins. So no znode that exists is reported as gone, and no request of the old
// epoch is carried out after the next has begun.
func (a *sessionActor) takeOver(e *epoch) {
	if e.end(ErrRestarted, ErrRestarted) { // else Stopping has done it, or the connection
		e.retire()
	}
	if errors.Is(e.cause, ErrAuthFailed) {
		a.s.fail(e.cause)
		return
	}
	a.before = e
	g := a.s.state.lock()
	expired := e.unconfirmed()
	g.unlock()
	switch {
	case expired != nil:
		a.tell(machine.Suspended{Epoch: expired.number}) // it may be this one or the one before that clients know
	case !e.gone.Closed():
		a.tell(machine.Suspended{Epoch: e.number})
	}
	if e.gone.Closed() || expired == e {
		a.onGone()
		return
	}
	a.s.tasks.run(func() {
		_ = e.awaitGone() // an error is the end of the session, and of this actor
		a.s.ref.Tell(gone{e})
	})
}

// onGone goes over from the epoch of the incarnation before to the next.
func (a *sessionActor) onGone() {
	e := a.before
	a.before = nil
	a.endIfGone(e)
	a.open()
}

// endIfGone tells the clients of the end of an epoch, unless that has to be confirmed by the next.
func (a *sessionActor) endIfGone(e *epoch) {
	g := a.s.state.lock()
	gone := e.unconfirmed() == nil
	g.unlock()
	if gone {
		a.endEpoch(e.cause)
	}
}

// endEpoch tells the clients of the end of an epoch that is known to be gone.
func (a *sessionActor) endEpoch(cause error) {
	g := a.s.state.lock()
	clients := g.inOrder()
	g.unlock()
	for _, t := range clients {
		t.repeats.Store(0)
		t.endEpoch(cause, true)
	}
}

// Receive implements [actors.Receiver].
func (a *sessionActor) Receive(m message) { m.deliver(a) }

// Phase shows in the live tree.
func (a *sessionActor) Phase() string {
	g := a.s.state.lock()
	defer g.unlock()
	return g.stateNow().String()
}

// Stopping ends the epoch with the incarnation.
func (a *sessionActor) Stopping(cause error) {
	if !errors.Is(cause, actors.ErrRestarting) {
		return
	}
	g := a.s.state.lock()
	e := g.cur
	g.unlock()
	if e != nil && e.end(ErrRestarted, ErrRestarted) {
		e.retire()
	}
}

func (a *sessionActor) open() {
	g := a.s.state.lock()
	if g.closing {
		g.unlock()
		return
	}
	g.epochs++
	e := newEpoch(a.s, g.epochs)
	slow, seen := false, int64(0)
	if last := g.cur; last != nil {
		e.before = last.unconfirmed()
		if last.conn != nil {
			slow = last.conn.Slow()
			if !errors.Is(last.cause, ErrDataLoss) {
				seen = last.conn.LastZxid()
			}
		}
	}
	g.cur = e
	g.changed()
	g.unlock()
	a.epoch, a.opened, a.begun, a.began, a.up, a.trusted = e, time.Now(), false, machine.EpochBegan{}, false, false
	conn, err := e.connect(slow, seen)
	if err != nil {
		a.s.fail(err)
		return
	}
	g = a.s.state.lock()
	e.conn = conn
	g.unlock()
}

func (a *sessionActor) onConnEvent(ev zkconn.Event) {
	switch ev := ev.(type) {
	case zkconn.Up:
		a.up = true
		if a.begun {
			a.tell(machine.Resumed{Epoch: a.epoch.number})
		} else {
			a.syncFirst(0)
		}
		a.epoch.watched.clientsKnow(true)
	case zkconn.Down:
		a.up = false
		if a.begun {
			a.tell(machine.Suspended{Epoch: a.epoch.number})
		}
		a.epoch.watched.clientsKnow(false)
	case zkconn.Ended:
		a.onEnded(endCause(ev.Cause))
	}
}

// syncFirst sees to it that what is read in the epoch is not older than what was read in the one
// before: the server may lag behind. (At the leader a sync adds nothing. There it is enough that a
// ZooKeeper session is opened by a transaction, which comes behind all that was answered before.)
// It also sees to it that the one before is gone, if that is not known; what tells that is as good
// as a sync.
func (a *sessionActor) syncFirst(try int) {
	e := a.epoch
	a.round++
	round := a.round
	g := a.s.state.lock()
	before := e.before
	g.unlock()
	a.s.tasks.run(func() {
		if try > 0 {
			a.s.sender.pause(a.s.tasks.life, backoff(try))
		}
		a.s.file.save(e)
		if before != nil {
			a.s.ref.Tell(synced{e, round, e.confirm(before)})
			return
		}
		a.s.ref.Tell(synced{e, round, e.conn.Sync("/")})
	})
}

func (a *sessionActor) onSynced(err error) {
	switch {
	case a.begun:
	case err == nil:
		a.onConfirmed()
		a.onBegun()
	case definite(err):
		if (err == errAlive || err == errMayLive) && a.barren == 0 {
			a.s.log.Warn("a ZooKeeper session was said to have expired, and may live on: its end is awaited", "cause", err)
		}
		a.barren++
		a.syncFirst(a.barren)
	}
	// Otherwise the connection went, and the next one brings the next try; or the session has
	// ended, and a message about that follows.
}

// onConfirmed tells the clients that the epoch before is gone, if they have not been told.
func (a *sessionActor) onConfirmed() {
	g := a.s.state.lock()
	before := a.epoch.before
	a.epoch.before = nil
	g.unlock()
	if before != nil {
		before.gone.Close()
		a.endEpoch(before.cause)
	}
}

func (a *sessionActor) onBegun() {
	a.begun, a.barren = true, 0
	g := a.s.state.lock()
	e := a.epoch
	e.begun = true
	a.began = machine.EpochBegan{Epoch: e.number, SessionID: e.sessionID}
	g.epochBegun(e)
	g.changed()
	clients := g.inOrder()
	g.unlock()
	for _, t := range clients {
		a.present(t)
	}
	e.watched.clientsKnow(a.up)
}

// present tells a client how things stand.
func (a *sessionActor) present(t *client) {
	if a.epoch == nil || !a.begun {
		return
	}
	began := a.began
	began.Trusted = a.trusted
	if t.beginEpoch(began) && !a.up {
		t.tell(machine.Suspended{Epoch: began.Epoch})
	}
}

// tell passes an event of the present epoch to all clients that know of it.
func (a *sessionActor) tell(n seam.Event) {
	g := a.s.state.lock()
	clients := g.inOrder()
	g.unlock()
	for _, t := range clients {
		t.tell(n)
	}
}

func (a *sessionActor) onTrusted(now bool) {
	a.trusted = now
	switch {
	case !a.begun:
	case now:
		a.tell(machine.TrustGained{Epoch: a.epoch.number})
	default:
		a.tell(machine.TrustEnded{Epoch: a.epoch.number})
	}
}

func (a *sessionActor) onEnded(cause error) {
	e := a.epoch
	a.epoch = nil
	if errors.Is(cause, ErrAuthFailed) {
		a.s.fail(cause) // which tells the clients: it is not known that their znodes are gone
		return
	}
	a.endIfGone(e)
	e.retire()
	if a.brief++; time.Since(a.opened) >= longEnough {
		a.brief = 0
	}
	brief := a.brief
	a.s.tasks.run(func() { // a server that ends every session at once is not to be asked for one after the other
		a.s.znodes.pauseIfRepeated(a.s.tasks.life, brief, "ZooKeeper sessions end soon after they have begun; pausing between attempts", "cause", cause.Error())
		a.s.ref.Tell(begin{})
	})
}

// message is what the session's actor receives: it knows what the actor does with it. A message
// about an epoch that is over is dropped.
type message interface{ deliver(a *sessionActor) }

type (
	begin     struct{} // the first epoch, or the next
	connEvent struct { // of an epoch
		epoch *epoch
		event zkconn.Event
	}
	synced struct { // the first sync of an epoch was answered, or not
		epoch *epoch
		round int
		err   error
	}
	trusted struct { // trust came or went
		epoch *epoch
		now   bool
	}
	gone    struct{ epoch *epoch } // ZooKeeper has ended its session, or ours is closed
	arrived struct{ client *client }
	crashed struct{ reason any } // something on the session's behalf has panicked
)

func (begin) deliver(a *sessionActor) {
	if a.epoch == nil && a.before == nil {
		a.open()
	}
}

func (m connEvent) deliver(a *sessionActor) {
	if m.epoch == a.epoch {
		a.onConnEvent(m.event)
	}
}

func (m synced) deliver(a *sessionActor) {
	if m.epoch == a.epoch && m.round == a.round {
		a.onSynced(m.err)
	}
}

func (m trusted) deliver(a *sessionActor) {
	if m.epoch == a.epoch {
		a.onTrusted(m.now)
	}
}

func (m gone) deliver(a *sessionActor) {
	if m.epoch == a.before && m.epoch.gone.Closed() {
		a.onGone()
	}
}

func (m arrived) deliver(a *sessionActor) { a.present(m.client) }
func (m crashed) deliver(*sessionActor)   { panic(m.reason) }
