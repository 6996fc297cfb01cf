package session

import (
	"sync/atomic"
	"time"
)

// Parts of the session's timeout T.
const (
	syncShare  = 6  // a sync goes out every T/6 while anything depends on trust
	driftShare = 12 // by so much clocks may differ over T
	leastShare = 4  // T/6 and T/12
	stillShare = 3  // as old may be what the leader knows if the server stood still, unnoticed, between two requests
	gapShare   = 3  // answers further apart than T/3 leave time for the election of another leader
	freshShare = 4  // a sync that is sent within T/4 of the last proof is answered before the gap is too large
	lateShare  = 48 // an answer that takes T/48 longer than others may have been kept by a server that stood still
	grainShare = 64 // what was sent within T/64 counts as one request
	jumpShare  = 10 // clocks that differ by more than T/10 all at once have jumped
	sleepLimit = 3  // who slept for 3T is found expired when awake: a session that is alive had its wall clock set
)

// trust is how long the session may be assumed alive, by this process's own clocks: *trusted
// until*. It is pure: moments come from outside. Only the answers to writes move it, since a quorum
// has agreed to them, and those to syncs for as long as they follow on one another.
//
//	until  = when the answered request was sent + T − margin
//	margin = T/6 + tick/2 + T/12, but at least T/3, and 3/2 tick
//
// A sync is answered by the leader alone. One that stood still, was deposed meanwhile and does not
// know it answers too, and takes sessions up that its successor has ended. So the first proof on a
// connection, and behind each gap in the answers in which another leader can have been elected, is
// a write.
//
// How much less than T an answer is good for is what the leader may not know of this session. It
// learns of it from the server that the session is connected to, twice a tick. If that passes on in
// time, an answer proves that the leader knows of what the server had heard half a tick before. If
// it stood still, unnoticed, right behind an answer, the leader knows of what had been heard half a
// tick before that one. Both are reckoned from the answers that really came; the margin covers
// requests every T/6. And a leader that its followers have given up answers for up to one and a
// half ticks more.
type trust struct {
	timeout time.Duration
	margin  time.Duration // what is taken off at least
	least   time.Duration // what has to be taken off when requests go out every T/6
	tick    time.Duration // the longest that it can be

	stands bool
	until  instant
	proof  instant       // when the request was sent that until comes from
	skew   time.Duration // when last looked at
	deaf   time.Duration // what was sent before proves nothing: a clock has jumped since (monotonic)
	heard  echoes        // what was answered on this connection

	quorum bool          // the server was at a quorum on this connection...
	anchor time.Duration // ...at this moment or later, and has not stood still for long since (monotonic)

	vouch *atomic.Pointer[voucher]
}

// voucher is what a [Hold.Valid] needs to know; it is never changed.
type voucher struct {
	epoch uint64
	until instant
	skew  time.Duration
	jump  time.Duration
}

// good: the session may be assumed alive at this moment.
func (v *voucher) good(now instant) bool {
	return v != nil && !now.reached(v.until) && (now.skew()-v.skew).Abs() <= v.jump
}

// begin starts an epoch without any trust.
func (t *trust) begin(cfg *config, timeout time.Duration, now instant) {
	t.measure(cfg, timeout)
	// Field by field, but for vouch: that is read without the session's mutex.
	t.stands, t.until, t.proof, t.skew, t.deaf = false, instant{}, instant{}, now.skew(), 0
	t.connected(now, false, now)
}

// measure reckons with a negotiated timeout.
func (t *trust) measure(cfg *config, timeout time.Duration) {
	tick := cfg.tick
	if tick == 0 {
		tick = timeout / 2 // a timeout is at least two ticks
	}
	t.timeout, t.tick = timeout, tick
	t.least = max(timeout/leastShare+tick/2, timeout/stillShare, cfg.tick*3/2)
	t.margin = cfg.margin
	if t.margin == 0 {
		t.margin = t.least
	}
}

// retime goes over to another negotiated timeout. What stands goes on for as long as the shorter of
// the two allows.
func (t *trust) retime(cfg *config, timeout time.Duration) {
	lacking := t.timeout - t.margin - (t.until.mono - t.proof.mono)
	t.measure(cfg, timeout)
	if !t.stands {
		return
	}
	if until := t.proof.add(t.timeout - t.margin - max(lacking, 0)); until.mono < t.until.mono {
		t.until = until
	}
	v := *t.vouch.Load()
	v.until, v.jump = t.until, timeout/jumpShare
	t.vouch.Store(&v)
}

// connected: there is a connection, on which the session was asked for at that moment. The leader
// knows that, whoever it is. If the session was created by it, a quorum does.
func (t *trust) connected(asked instant, created bool, now instant) {
	t.heard.since(asked.mono)
	t.quorum, t.anchor = created && now.mono-asked.mono <= t.timeout/gapShare, asked.mono
}

// pinged takes the answer to a ping, after check has been called with the same moment: the server
// has heard of the session. The leader may not have.
func (t *trust) pinged(sent, now instant) {
	if sent.mono >= t.deaf {
		t.heard.answered(sent.mono, now.mono, t.timeout/grainShare)
	}
	if pingsProve && t.stands {
		v := *t.vouch.Load()
		t.until = now.add(t.timeout - t.margin)
		v.until = t.until
		t.vouch.Store(&v)
	}
}

// credit is how long the answer to a request that was sent at that moment is good for.
func (t *trust) credit(sent instant) time.Duration {
	half := t.tick / 2
	punctual := sent.mono - t.heard.before(sent.mono-half) + t.timeout/driftShare
	still := sent.mono - t.heard.before(t.heard.alive(sent.mono, half, t.timeout/lateShare)-half)
	needed := max(punctual, still, t.least)
	if t.margin >= t.least {
		return t.timeout - max(t.margin, needed)
	}
	return t.timeout - t.margin - (needed - t.least) // whoever gave it knows better, but not of this
}

// agreed tells whether a quorum stands behind an answer: to a write, or to a sync that follows on
// another proof before another leader could do anything.
func (t *trust) agreed(sent, now instant, write bool) bool {
	gap := t.timeout / gapShare
	following := t.quorum && now.mono-t.anchor <= gap
	t.quorum = following || write && now.mono-sent.mono <= gap
	if t.quorum {
		t.anchor = max(t.anchor, sent.mono)
	}
	return following || write
}

// current: a sync that is sent at this moment will do as a proof. Otherwise it takes a write.
func (t *trust) current(now instant) bool {
	return t.quorum && now.mono-t.anchor <= t.timeout/freshShare
}

// proved takes the answer to a request, after check has been called with the same moment, and tells
// whether trust came with it; or that it proves nothing, and a write would.
func (t *trust) proved(epoch uint64, sent, now instant, write bool) (gained, refused bool) {
	if sent.mono < t.deaf {
		return false, false
	}
	until := sent.add(t.credit(sent))
	t.heard.answered(sent.mono, now.mono, t.timeout/grainShare)
	if !t.agreed(sent, now, write) {
		return false, true
	}
	if now.reached(until) || until.mono <= t.until.mono {
		return false, false
	}
	gained = !t.stands
	t.stands, t.until, t.proof = true, until, sent
	t.vouch.Store(&voucher{epoch: epoch, until: until, skew: t.skew, jump: t.timeout / jumpShare})
	return gained, false
}

// check looks at the clocks and tells whether trust ended by that.
func (t *trust) check(now instant) (lapsed bool) {
	skew := now.skew()
	by := skew - t.skew
	jumped := by.Abs() > t.timeout/jumpShare
	t.skew = skew
	stood := t.stands
	switch {
	case jumped:
		t.jump(now)
		if by > 0 && by < sleepLimit*t.timeout {
			t.heard.age(by)
		}
	case stood && now.reached(t.until):
		t.drop()
	}
	return stood && !t.stands
}

// jump: one of the clocks has jumped, perhaps since the machine slept. Nothing that was sent before
// proves anything, nor does a leader's word alone.
func (t *trust) jump(now instant) {
	t.deaf, t.quorum = now.mono, false
	if t.stands {
		t.until = instant{}
		t.drop()
	}
}

// drop ends trust until the next proof.
func (t *trust) drop() {
	t.stands = false
	t.vouch.Store(nil)
}
