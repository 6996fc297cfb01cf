package session

import (
	"sync/atomic"
	"time"

	"github.com/troupe-go/troupe/session/internal/lease"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// keeper keeps the lease of the present epoch: it asks for proofs while anything depends on the
// lease, and ends it, with all holds, when its time has come. It is guarded, so that a change of
// the lease and its announcement are one step: a client that was refused a hold because there was
// no lease is told when there is one again.
type keeper struct {
	in    *guarded
	lease lease.Lease

	suspected   bool          // the end of the lease was announced
	suspectAt   lease.Instant // when its absence is announced
	syncTimer   alarm         // for the next proof: syncDue
	expiryTimer alarm         // for the end of the lease, or suspectAt: expiryDue
	clockTimer  alarm         // for the next check of the clocks: clockDue
	lossTimer   alarm         // for a deletion that is not logged yet: tellDeleted

	standby map[*client]struct{} // clients that may want a hold at any moment
	refused int                  // 1 if a client was refused a hold for want of a lease, and none has come since; else 0
}

func newKeeper(s *Session) keeper {
	k := &s.state.in.keeper
	return keeper{
		in: &s.state.in, lease: lease.New(lease.Config{Tick: s.cfg.tick, Margin: s.cfg.margin}, &s.view), standby: make(map[*client]struct{}),
		syncTimer: alarm{react: func() { k.syncDue() }}, expiryTimer: alarm{react: func() { k.expiryDue() }},
		clockTimer: alarm{react: func() { k.clockDue() }}, lossTimer: alarm{react: func() { k.in.tellDeleted() }},
	}
}

// alarm is a timer of the keeper. Its reaction is a task that has the session's mutex.
type alarm struct {
	react func()
	timer *time.Timer // nil: not set
	at    lease.Instant
	round int // counts how often it was set, so that a reaction that comes too late is known
}

// set lets an alarm go off at a moment, unless it does so before anyway.
func (k *keeper) set(a *alarm, now, at lease.Instant) {
	if a.timer != nil && a.at.Mono <= at.Mono {
		return
	}
	k.unset(a)
	s := k.in.session
	if !s.tasks.begin() {
		return
	}
	a.at = at
	a.round++
	round := a.round
	a.timer = time.AfterFunc(max(now.Left(at), 0)+s.cfg.source.Turn(500), func() {
		defer s.tasks.running.Done()
		defer s.tasks.catch()
		g := s.state.lock()
		defer g.unlock()
		if a.timer != nil && a.round == round {
			a.timer = nil
			a.react()
		}
	})
}

func (k *keeper) unset(a *alarm) {
	if a.timer != nil && a.timer.Stop() {
		k.in.session.tasks.running.Done()
	}
	a.timer = nil
}

// dependents is how much depends on the lease: possessions, clients that stand by, and clients that
// were refused a hold because there was no lease.
func (k *keeper) dependents() int { return len(k.in.holds) + len(k.standby) + k.refused }

// added is called when something was added to what depends on the lease.
func (k *keeper) added(now lease.Instant) {
	e := k.in.cur
	if e == nil || e.ended {
		return
	}
	if !k.lease.Stands() || k.lease.Due(now) {
		k.ask(e, now)
	}
	k.set(&k.syncTimer, now, k.lease.NextSync(now))
	k.watchEnd(now)
}

// ask asks for a proof: of the leader, where that is known to be one, else of a quorum; the next
// one once the answer has come, or when it is due all the same: on a slow connection proofs have to
// overlap, so that one follows on another.
func (k *keeper) ask(e *epoch, now lease.Instant) {
	if !e.begun || !e.up {
		return
	}
	s := e.session
	if k.lease.SyncProves(now) {
		k.lease.Asked(now)
		s.tasks.run(func() { _ = e.conn.Sync("/") }) // an answer is told as Proved; for want of one, the lease ends
		return
	}
	if e.proving == e.ups && !k.lease.Due(now) {
		return
	}
	k.lease.Asked(now)
	e.proving = e.ups
	asked := e.ups
	s.tasks.run(func() {
		_ = e.conn.Prove("/") // likewise
		defer s.state.lock().unlock()
		if e.proving == asked {
			e.proving = 0
		}
	})
}

// syncDue is the reaction of the timer of proofs: every T/6 while anything depends on the lease a
// proof is asked for, unless a write has gone out meanwhile.
func (k *keeper) syncDue() {
	e := k.in.cur
	if e == nil || e.ended || k.dependents() == 0 && !k.suspected {
		return
	}
	now := e.session.clock.now()
	if k.expire(e, now) || k.lease.Due(now) {
		k.ask(e, now)
	}
	k.set(&k.syncTimer, now, k.lease.NextSync(now))
}

// watchEnd sees to it that the end of the lease is noticed when it comes, and that its absence is
// announced when it has lasted for as long as a proof is good for.
func (k *keeper) watchEnd(now lease.Instant) {
	if e := k.in.cur; e == nil || e.ended || !e.begun {
		return
	}
	switch {
	case k.lease.Stands():
		k.set(&k.expiryTimer, now, k.lease.Until())
	case !k.suspected:
		k.suspectAt = now.Add(k.lease.Longest())
		k.set(&k.expiryTimer, now, k.suspectAt)
	}
}

// expiryDue is the reaction of the timer of the lease's end: it ends now, network or no network,
// unless it was prolonged.
func (k *keeper) expiryDue() {
	e := k.in.cur
	if e == nil || e.ended || !e.begun {
		return
	}
	now := e.session.clock.now()
	k.expire(e, now)
	switch {
	case k.lease.Stands():
		k.set(&k.expiryTimer, now, k.lease.Until())
	case k.suspected || k.dependents() == 0 && e.up:
	case now.Reached(k.suspectAt):
		k.suspect(e)
	default:
		k.set(&k.expiryTimer, now, k.suspectAt)
	}
}

// expire ends the lease if the clocks say so, and every hold with it.
func (k *keeper) expire(e *epoch, now lease.Instant) (expired bool) {
	k.sawClock(now)
	if !k.lease.Check(now) {
		return false
	}
	depends := k.dependents() > 0
	k.lose(e, now)
	switch {
	case depends:
		k.suspect(e)
	case !e.up:
		k.watchEnd(now)
	}
	return true
}

// suspect announces that the lease has ended, or that none came. The lease of an idle session ends
// silently: nothing depends on it.
func (k *keeper) suspect(e *epoch) {
	s := e.session
	k.suspected = true
	now := s.clock.now()
	k.set(&k.syncTimer, now, now.Add(k.lease.SyncEvery())) // until there is a proof, also if nothing depends on it any more
	s.ref.Tell(trusted{e, false})
	k.in.changed()
}

// proved takes an answer that may be a proof.
func (k *keeper) proved(e *epoch, ev zkconn.Proved) {
	s := e.session
	sent, now := s.clock.instant(ev.Sent), s.clock.now()
	k.lease.Sent(sent)
	expired := k.expire(e, now) // a lease that ran out unnoticed ends first, with all that depended on it
	k.in.hears(sent)
	k.in.story.stood = 0
	gained, refused := k.lease.Proved(e.number, sent, now, ev.Write)
	switch {
	case gained:
		k.refused = 0
		s.ref.Tell(trusted{e, true})
		k.set(&k.expiryTimer, now, k.lease.Until())
		if k.suspected {
			k.suspected = false
			k.in.changed()
		}
		k.trustIsBack(e)
	case (refused || expired) && (k.dependents() > 0 || k.suspected):
		k.ask(e, now)
	}
}

func (k *keeper) pinged(e *epoch, sent time.Time) {
	s := e.session
	now := s.clock.now()
	k.expire(e, now)
	k.in.hears(s.clock.instant(sent))
	k.lease.Pinged(s.clock.instant(sent), now)
}

// clockDue is the reaction of the timer of the clocks: while anything is held they are compared,
// since no timer tells of one that jumps.
func (k *keeper) clockDue() {
	e := k.in.cur
	if e == nil || e.ended || len(k.in.holds) == 0 {
		return
	}
	now := e.session.clock.now()
	k.expire(e, now)
	k.checkSoon(now)
}

func (k *keeper) checkSoon(now lease.Instant) {
	k.set(&k.clockTimer, now, now.Add(k.lease.CheckEvery()))
}

// doubt ends the lease if the clocks say so, or said so when Valid was called: once that has
// returned false it must not return true again, even if the clocks have been set back since.
func (k *keeper) doubt(h *Hold) {
	e := k.in.cur
	if !k.in.stands(h) || e == nil || e.ended {
		return
	}
	now := e.session.clock.now()
	if !k.expire(e, now) {
		if !h.void.Load() {
			return
		}
		k.lease.Jumped(now)
		k.lose(e, now)
		k.suspect(e)
	}
	k.ask(e, now)
}

// retime takes in the timeout that was negotiated. After a reconnection to a server that is
// configured otherwise, possessions last as long as the shorter of the two allows. spoilt: the
// margin leaves nothing of the timeout.
func (k *keeper) retime(e *epoch, timeout time.Duration, now lease.Instant) (spoilt bool) {
	switch {
	case e.ups == 0:
		k.lease.Begin(timeout, now)
	case e.timeout == timeout:
		return false
	default:
		k.lease.Retime(timeout)
		k.expire(e, now)
		k.watchEnd(now)
	}
	return k.lease.Margin() >= timeout
}

func (k *keeper) end() {
	k.lease.End()
	k.suspected, k.refused = false, 0
	clear(k.standby)
	k.stop()
}

func (k *keeper) stop() {
	for _, a := range []*alarm{&k.syncTimer, &k.expiryTimer, &k.clockTimer, &k.lossTimer} {
		k.unset(a)
	}
}

// clock is what the instants of a session are counted from, by both clocks of the machine.
type clock struct {
	base     time.Time
	wallSlip atomic.Int64 // tests let the clocks jump with these
	monoSlip atomic.Int64
}

func (c *clock) now() lease.Instant { return c.instant(time.Now()) }

// instant is the moment of a time that was taken with [time.Now].
func (c *clock) instant(t time.Time) lease.Instant {
	return lease.Instant{
		Mono: t.Sub(c.base) + time.Duration(c.monoSlip.Load()),
		Wall: t.Round(0).Add(time.Duration(c.wallSlip.Load())),
	}
}
