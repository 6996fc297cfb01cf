package session

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// epoch is one ZooKeeper session, from the opening of its connection on. Its fields are guarded by
// the session's mutex, but for the first ones. Its states come in this order: begun, which is left
// out if it ends before, ended, gone.
type epoch struct {
	// Constant once it has begun.
	session   *Session
	number    uint64
	conn      *zkconn.Conn
	sessionID int64
	watched   *epochWatches // has a mutex of its own
	// Its connections.
	timeout time.Duration
	up      bool      // there is a connection
	server  string    // "" if there is none
	address string    // likewise
	lost    time.Time // when the last one was lost; zero: there is one, or was none
	ups     uint64    // how many there have been: their numbers
	proving uint64    // the number of the one on which a quorum was asked for a proof that has not come; 0: none
	// Its states.
	before *epoch       // the one before, if it is said to have expired and not known to be gone: then this one waits for that
	begun  bool         // authenticated, and the first sync is answered: requests may go
	ended  bool         // no request is made in it any more
	cause  error        // why it has ended
	left   []string     // znodes of one that is said to have expired: see record.evidence, confirm
	gone   notify.Latch // ZooKeeper has ended its session, and with it every ephemeral znode; or there was none
}

func newEpoch(s *Session, number uint64) *epoch {
	e := &epoch{session: s, number: number}
	e.watched = newEpochWatches(e)
	return e
}

// connect begins to connect. slow and seen are those of [zkconn.Config].
func (e *epoch) connect(slow bool, seen int64) (*zkconn.Conn, error) {
	s := e.session
	return zkconn.Open(zkconn.Config{
		Servers: s.cfg.servers, Timeout: s.cfg.timeout, Slow: slow, MaxPacket: s.cfg.maxPacket, Seen: seen,
		Dial: s.cfg.dial, Secure: s.cfg.secure(), Stake: e.atStake, Auth: s.cfg.credentials(), Logger: s.log.With("epoch", e.number), Source: s.cfg.source, Counts: &s.requests,
	}, e.hear)
}

// hear takes what the connection says, in its order. It decides at once what must not wait, and
// passes what becomes of the connection on to the session's actor.
func (e *epoch) hear(ev zkconn.Event) {
	s := e.session
	defer s.tasks.catch()
	switch ev := ev.(type) {
	case zkconn.Up:
		e.watched.connHears(true) // before requests go over it
		if spoilt, margin := e.connected(ev); spoilt {
			s.log.Error("the negotiated timeout leaves nothing of trust: nothing can be held", "timeout", ev.Timeout, "margin", margin)
		}
	case zkconn.Down:
		e.watched.connHears(false)
		e.disconnected()
		s.trees.down(nil)
	case zkconn.Fired:
		e.watched.fire(ev)
		s.trees.fired(ev)
		return
	case zkconn.Answered:
		ev.Tell()
		return
	case zkconn.Ended:
		cause := endCause(ev.Cause)
		e.end(cause, endOfHolds(cause))
	case zkconn.Proved:
		e.present(func(k *keeper) { k.proved(e, ev) })
		return
	case zkconn.Heard:
		e.present(func(k *keeper) { k.pinged(e, ev.Sent) })
		return
	}
	s.ref.Tell(connEvent{e, ev})
}

// present does something with the lease, with the mutex, if the epoch is the present one.
func (e *epoch) present(do func(k *keeper)) {
	g := e.session.state.lock()
	defer g.unlock()
	if !e.ended && e == g.cur {
		do(&g.keeper)
	}
}

// connected takes in that there is a connection. spoilt: the margin leaves nothing of trust.
func (e *epoch) connected(ev zkconn.Up) (spoilt bool, margin time.Duration) {
	s := e.session
	g := s.state.lock()
	defer g.unlock()
	if e.ended {
		return false, 0
	}
	now := s.clock.now()
	spoilt = g.keeper.retime(e, ev.Timeout, now)
	g.keeper.lease.Connected(s.clock.instant(ev.Asked), ev.Created, now)
	e.timeout, e.server, e.address = ev.Timeout, ev.Server, ev.Address
	if e.sessionID != ev.SessionID { // once: requests of the epoch, which begin after it, read it without the mutex
		e.sessionID = ev.SessionID
	}
	e.up, e.lost = true, time.Time{}
	g.connectionBack(e)
	g.hears(s.clock.instant(ev.Asked))
	e.ups++
	if g.keeper.dependents() > 0 || g.keeper.suspected {
		g.keeper.ask(e, now)
	}
	g.changed()
	return spoilt, g.keeper.lease.Margin()
}

func (e *epoch) disconnected() {
	s := e.session
	g := s.state.lock()
	defer g.unlock()
	if e.ended {
		return
	}
	e.up, e.server, e.address, e.lost = false, "", "", time.Now()
	var lost []string
	if s.cfg.strict {
		lost = g.endHolds(ErrSuspended)
	}
	g.connectionLost(e, lost)
	g.keeper.watchEnd(s.clock.now())
	g.changed()
}

// end ends an epoch; false if it had ended. Its holds end with the cause given for them, its znodes
// are forgotten, nothing is asked any more in it.
func (e *epoch) end(cause, holds error) bool {
	if !e.endGuarded(cause, holds) {
		return false
	}
	for r := range e.watched.end() {
		r.refuse(ErrExpired)
	}
	e.session.trees.down(cause)
	return true
}

func (e *epoch) endGuarded(cause, holds error) (first bool) {
	g := e.session.state.lock()
	defer g.unlock()
	if e.ended {
		return false
	}
	e.ended, e.cause = true, cause
	e.up, e.server, e.address = false, "", ""
	e.lost = cmp.Or(e.lost, time.Now()) // the end of the ZooKeeper session is awaited from then on
	g.cause = cause
	if errors.Is(cause, ErrExpired) {
		e.left = g.record.evidence(&e.session.space)
		e.saidOver()
	}
	g.epochOver(e, g.endHolds(holds), cause)
	g.keeper.end()
	g.record.clear()
	g.changed()
	return true
}

// endCause says why an epoch ended: one that was replaced, or lost, is over as one that expired.
func endCause(cause error) error {
	if errors.Is(cause, zkconn.ErrReplaced) || errors.Is(cause, ErrDataLoss) {
		return errors.Join(ErrExpired, cause)
	}
	return cause
}

// endOfHolds is the cause with which the holds end when the connection says that the epoch is over.
// A refused credential ends the session, and does not say that their znodes are gone.
func endOfHolds(cause error) error {
	if errors.Is(cause, ErrExpired) {
		return cause
	}
	return fmt.Errorf("%w: %w", ErrClosed, cause)
}

// atStake tells whether anything depends on the lease of the epoch, and for how long the lease
// lasts if no more answers come.
func (e *epoch) atStake() (left time.Duration, some bool) {
	g := e.session.state.lock()
	defer g.unlock()
	k := &g.keeper
	if e.ended || e != g.cur || k.dependents() == 0 {
		return 0, false
	}
	if k.lease.Stands() {
		left = max(e.session.clock.now().Left(k.lease.Until()), 0)
	}
	return left, true
}

// That a ZooKeeper session has expired may be said by a leader that stood still for long and was
// deposed: by its own clock it has, and the others keep it, with every znode, until it expires
// there. So the next epoch confirms it with a quorum, before it begins.

// enough is how many znodes that exist for certain are read by confirm. One would do, since they
// end with their session alone, but another client might delete it.
const enough = 3

// saidOver records that a server has said that the ZooKeeper session of an ended epoch has expired,
// or was closed. The epoch is gone then, unless the session is said to have expired and had znodes,
// or may have had (left is not nil): then a quorum has to confirm it.
func (e *epoch) saidOver() {
	if e.left == nil {
		e.gone.Close()
	}
}

// unconfirmed is the epoch, this one or the one before, that is said to have expired and not known
// to be gone; nil if there is none. With the mutex.
func (e *epoch) unconfirmed() *epoch {
	if e.before != nil {
		return e.before
	}
	if e.left != nil && !e.gone.Closed() {
		return e
	}
	return nil
}

var (
	errAlive   = errors.New("it has znodes, so other servers keep it")
	errMayLive = errors.New("something was under way in it, and the leader has changed")
)

// confirm asks a quorum of the servers whether the epoch before is gone: nil if it is, [errAlive]
// or [errMayLive] if not. A session that only may live, since the leader changed or since nothing
// of it can be read, is taken for gone when twice the timeout and two ticks have passed: ZooKeeper
// ends a session at the first tick after its timeout, and one new leader counts anew. It has ended
// then, unless there were more, or none for long.
func (e *epoch) confirm(before *epoch) error {
	if err := caughtUp(e.conn, "/"); err != nil { // from now on reads are not older than this
		return err
	}
	tick := cmp.Or(e.session.cfg.tick, before.timeout/2) // a timeout is at least two ticks
	longAgo := time.Since(before.lost) > 2*(before.timeout+tick)
	// The upper half of a transaction's number counts leaders. If it has not grown, the one that
	// said so leads: it has ended the session, and refuses what comes late.
	sameLeader := e.conn.LastZxid()>>32 == before.conn.LastZxid()>>32
	if len(before.left) == 0 && !longAgo && !sameLeader {
		return errMayLive
	}
	for _, path := range before.left {
		stat, exists, err := e.conn.Exists(path, false)
		switch {
		case err == nil && exists && stat.EphemeralOwner == before.sessionID: // not another's of the same name
			return errAlive
		case err != nil && (!longAgo || !definite(err) || errors.Is(err, zkconn.ErrThrottled)): // else it may not be read, ever
			return err
		}
	}
	return nil
}

// awaitGone waits until ZooKeeper is known to have ended an epoch that is over: nil, or [ErrClosed]
// if the session is closed before that is known.
func (e *epoch) awaitGone() error {
	s := e.session
	select {
	case <-e.gone.C():
	case <-s.lifetime.end.Done():
		if !e.gone.Closed() {
			return s.lifetime.closedErr()
		}
	}
	return nil
}
