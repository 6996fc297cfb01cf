package session

import (
	"errors"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/session/internal/link"
)

// steward is one incarnation of the session's actor: it begins and ends epochs, keeps the table of watches, and tells the seats what happens, in order.
type steward struct {
	*Session
	self actors.Self[message]

	epoch   *epoch // the one in charge, nil between two
	begun   bool
	began   EpochBegan
	up      bool // as the seats know it
	trusted bool // as the seats know it
	barren  int  // epochs in a row that ended before they began
	table   watchTable
	send    func(a *ask, watch bool) // request, but in tests of the table
}

func newSteward(s *Session, self actors.Self[message]) *steward {
	s.mu.Lock() // the actor's name is known once spawn has let go of it
	started, seats := s.started, s.members()
	s.mu.Unlock()
	w := &steward{Session: s, self: self, table: newWatchTable()}
	w.send = w.request
	if self.Incarnation() > 1 && started {
		for _, t := range seats {
			t.endEpoch(ErrRestarted) // it may have been told of the one that the incarnation before had in charge
		}
		w.open()
	}
	return w
}

// Receive implements [actors.Receiver].
func (w *steward) Receive(m message) {
	switch m := m.(type) {
	case begin:
		if w.epoch == nil {
			w.open()
		}
	case told:
		if m.epoch == w.epoch {
			w.onTold(m.event)
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
		w.onAsked(m.ask)
	case heard:
		w.onHeard(m)
	case poked:
		m.do(w)
	}
}

// Phase shows in the live tree.
func (w *steward) Phase() string { return w.Status().State.String() }

// Stopping ends the epoch with the incarnation: the table of watches is gone, so the next one begins anew.
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
	e := &epoch{number: w.epochs, asks: make(map[*ask]struct{})}
	w.cur = e
	w.turned()
	w.mu.Unlock()
	w.epoch, w.begun, w.began, w.up, w.trusted = e, false, EpochBegan{}, false, false
	conn, err := link.Open(link.Config{
		Servers: w.cfg.servers, Timeout: w.cfg.timeout, MaxPacket: w.cfg.maxPacket,
		Dial: w.cfg.dialer(), Auth: w.cfg.auth, Logger: w.log.With("epoch", e.number),
	}, func(ev link.Event) { w.hear(e, ev) })
	if err != nil {
		w.fail(err)
		return
	}
	w.mu.Lock()
	e.conn = conn
	w.mu.Unlock()
}

func (w *steward) onTold(ev link.Event) {
	switch ev := ev.(type) {
	case link.Up:
		w.up = true
		if !w.begun {
			w.syncFirst(0)
			return
		}
		w.tell(Reconnected{w.epoch.number})
	case link.Down:
		w.up = false
		if w.begun {
			w.tell(Disconnected{w.epoch.number})
		}
	case link.Fired:
		w.onFired(ev)
	case link.Ended:
		w.onEnded(endCause(ev.Cause))
	}
}

// syncFirst sees to it that what is read in the epoch is not older than what was read in the one before: the server may lag behind.
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
	// Otherwise the connection went, and the next one brings the next try, or the session did, and word of that is on its way.
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
	if t.beginEpoch(began) && !w.up {
		t.tell(Disconnected{began.Epoch})
	}
}

// tell passes a notice of the present epoch to all seats that know of it.
func (w *steward) tell(n Notice) {
	w.mu.Lock()
	seats := w.members()
	w.mu.Unlock()
	for _, t := range seats {
		t.tell(n)
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
	w.epoch, w.table = nil, newWatchTable()
	w.mu.Lock()
	seats := w.members()
	w.mu.Unlock()
	for _, t := range seats {
		t.endEpoch(cause)
	}
	w.Session.retire(e)
	switch {
	case errors.Is(cause, ErrAuthFailed):
		w.fail(cause)
	case w.begun:
		w.open()
	default:
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
	if errors.Is(cause, link.ErrReplaced) {
		return errors.Join(ErrExpired, cause)
	}
	return cause
}
