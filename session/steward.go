package session

import (
	"errors"
	"time"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/session/internal/watches"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// steward is one incarnation of the session's actor: it begins and ends epochs, keeps the table of
// watches, and tells the seats what happens, in order.
type steward struct {
	*Session
	self actors.Self[message]

	epoch   *epoch // the one in charge, nil between two
	before  *epoch // of the incarnation before: over, and not known to be gone
	begun   bool
	began   EpochBegan
	up      bool // as the seats know it
	trusted bool // as the seats know it
	barren  int  // epochs in a row that ended before they began
	table   *watches.Table
}

func newSteward(s *Session, self actors.Self[message]) *steward {
	s.mu.Lock() // the actor's name is known once spawn has let go of it
	started, last := s.started, s.cur
	s.mu.Unlock()
	w := &steward{Session: s, self: self}
	w.table = watches.New(w)
	switch {
	case self.Incarnation() == 1 || !started:
	case last == nil:
		w.open()
	default:
		w.takeOver(last)
	}
	return w
}

// takeOver begins an incarnation after a crash, with the epoch of the one before. That epoch is
// over, since its table of watches is lost, but its ZooKeeper session may live on until it can be
// told so, with every znode. Until ZooKeeper has confirmed the end nobody is told of it, and no
// epoch begins: neither is anything reported as gone that stands, nor can what was sent in the old
// epoch be carried out behind the back of the next.
func (w *steward) takeOver(e *epoch) {
	if w.over(e, ErrRestarted, ErrRestarted) { // else Stopping has done it, or the connection
		w.retire(e)
	}
	if errors.Is(e.cause, ErrAuthFailed) {
		w.fail(e.cause)
		return
	}
	w.before = e
	if e.gone.Closed() {
		w.onBuried()
		return
	}
	w.tell(Disconnected{e.number})
	w.tasks.run(func() {
		_ = w.buried(e) // an error is the end of the session, and of this actor
		w.ref.Tell(gone{e})
	})
}

// onBuried goes over from the epoch of the incarnation before to the next.
func (w *steward) onBuried() {
	e := w.before
	w.before = nil
	w.endEpoch(e.cause)
	w.open()
}

// endEpoch tells the seats of the end of an epoch that is known to be gone.
func (w *steward) endEpoch(cause error) {
	w.mu.Lock()
	seats := w.members()
	w.mu.Unlock()
	for _, t := range seats {
		t.inbox.endEpoch(cause, true)
	}
}

// Receive implements [actors.Receiver].
func (w *steward) Receive(m message) {
	switch m := m.(type) {
	case begin:
		if w.epoch == nil && w.before == nil {
			w.open()
		}
	case gone:
		if m.epoch == w.before && m.epoch.gone.Closed() {
			w.onBuried()
		}
	case connEvent:
		if m.epoch == w.epoch {
			w.onConnEvent(m.event)
		}
	case synced:
		if m.epoch == w.epoch {
			w.onSynced(m.err)
		}
	case trusted:
		if m.epoch == w.epoch {
			w.onTrusted(m.now)
		}
	case seated:
		w.present(m.seat)
	case asked:
		w.onAsked(m.read)
	case readDone:
		w.onReadDone(m)
	case crashed:
		panic(m.reason)
	case vacated:
		w.table.Leave(&m.seat.inbox)
	case forgone:
		w.onForgone(m)
	case unwatched:
		if m.epoch == w.epoch {
			w.onUnwatched(m)
		}
	case poked:
		m.do(w)
	}
}

// Phase shows in the live tree.
func (w *steward) Phase() string { return w.Status().State.String() }

// Stopping ends the epoch with the incarnation: the table of watches is gone, so the next one
// begins anew.
func (w *steward) Stopping(cause error) {
	if !errors.Is(cause, actors.ErrRestarting) {
		return
	}
	w.mu.Lock()
	e := w.cur
	w.mu.Unlock()
	if e != nil && w.over(e, ErrRestarted, ErrRestarted) {
		w.retire(e)
	}
}

// open begins an epoch.
func (w *steward) open() {
	w.mu.Lock()
	if w.closing {
		w.mu.Unlock()
		return
	}
	w.epochs++
	slow := w.cur != nil && w.cur.conn != nil && w.cur.conn.Slow()
	e := newEpoch(w.epochs)
	w.cur = e
	w.turned()
	w.mu.Unlock()
	w.epoch, w.begun, w.began, w.up, w.trusted = e, false, EpochBegan{}, false, false
	conn, err := zkconn.Open(zkconn.Config{
		Servers: w.cfg.servers, Timeout: w.cfg.timeout, Slow: slow, MaxPacket: w.cfg.maxPacket,
		Dial: w.cfg.dial, Secure: w.cfg.secure(), Stake: func() (time.Duration, bool) { return w.atStake(e) }, Auth: w.cfg.credentials(), Logger: w.log.With("epoch", e.number),
	}, func(ev zkconn.Event) { w.hear(e, ev) })
	if err != nil {
		w.fail(err)
		return
	}
	w.mu.Lock()
	e.conn = conn
	w.mu.Unlock()
}

func (w *steward) onConnEvent(ev zkconn.Event) {
	switch ev := ev.(type) {
	case zkconn.Up:
		w.up = true
		if !w.begun {
			w.syncFirst(0)
			return
		}
		w.began.Timeout = ev.Timeout
		w.tell(Reconnected{w.epoch.number})
		w.table.GiveBack()
	case zkconn.Down:
		w.up = false
		if w.begun {
			w.tell(Disconnected{w.epoch.number})
		}
	case zkconn.Fired:
		w.onFired(ev)
	case zkconn.Ended:
		w.onEnded(endCause(ev.Cause))
	}
}

// syncFirst sees to it that what is read in the epoch is not older than what was read in the one
// before: the server may lag behind.
func (w *steward) syncFirst(try int) {
	e := w.epoch
	w.tasks.run(func() {
		if try > 0 {
			w.pause(w.life, backoff(try))
		}
		w.ref.Tell(synced{e, e.conn.Sync("/")})
	})
}

func (w *steward) onSynced(err error) {
	switch {
	case w.begun:
	case err == nil:
		w.onBegun()
	case definite(err):
		w.barren++
		w.syncFirst(w.barren)
	}
	// Otherwise the connection went, and the next one brings the next try, or the session did, and
	// word of that is on its way.
}

func (w *steward) onBegun() {
	w.begun, w.barren = true, 0
	w.mu.Lock()
	e := w.epoch
	e.begun = true
	w.began = EpochBegan{Epoch: e.number, SessionID: e.sessionID, Timeout: e.timeout}
	w.turned()
	seats := w.members()
	w.mu.Unlock()
	w.log.Info("epoch began", "epoch", e.number, "session", w.began.SessionID, "timeout", w.began.Timeout)
	for _, t := range seats {
		w.present(t)
	}
}

// present tells a seat how things stand.
func (w *steward) present(t *Seat) {
	if w.epoch == nil || !w.begun {
		return
	}
	began := w.began
	began.Trusted = w.trusted
	if t.inbox.beginEpoch(began) && !w.up {
		t.inbox.tell(Disconnected{began.Epoch})
	}
}

// tell passes a notice of the present epoch to all seats that know of it.
func (w *steward) tell(n Notice) {
	w.mu.Lock()
	seats := w.members()
	w.mu.Unlock()
	for _, t := range seats {
		t.inbox.tell(n)
	}
}

func (w *steward) onTrusted(now bool) {
	w.trusted = now
	switch {
	case !w.begun:
	case now:
		w.tell(TrustGained{w.epoch.number})
	default:
		w.tell(TrustEnded{w.epoch.number})
	}
}

// onEnded goes over to the next epoch.
func (w *steward) onEnded(cause error) {
	e := w.epoch
	w.log.Info("epoch ended", "epoch", e.number, "session", w.began.SessionID, "cause", cause)
	w.epoch, w.table = nil, watches.New(w)
	if errors.Is(cause, ErrAuthFailed) {
		w.fail(cause) // which tells the seats: nobody has said that their znodes are gone
		return
	}
	w.endEpoch(cause)
	w.retire(e)
	if w.begun {
		w.open()
	} else {
		w.barren++
		pause := backoff(w.barren)
		w.tasks.run(func() { // a server that ends every session at once is not to be asked for one after the other
			w.pause(w.life, pause)
			w.ref.Tell(begin{})
		})
	}
}

// endCause says why an epoch ended: a session that was replaced is over just as one that expired.
func endCause(cause error) error {
	if errors.Is(cause, zkconn.ErrReplaced) {
		return errors.Join(ErrExpired, cause)
	}
	return cause
}
