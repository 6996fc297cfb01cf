package session

import (
	"sync/atomic"
	"time"
)

// Parts of the session's timeout T.
const (
	syncShare  = 6  // a sync goes out every T/6 while anything depends on trust
	driftShare = 12 // by so much clocks may differ over T
	pingShare  = 3  // an idle session pings every T/3
	grainShare = 64 // what was sent within T/64 counts as one request
	jumpShare  = 10 // clocks that differ by more than T/10 all at once have jumped
)

// trust is how long the session may be assumed alive, by this process's own clocks: *trusted until*. It is pure: moments come from outside. Only the
// answers to syncs and writes move it, since only those come from the leader, which is who ends sessions.
//
//	until = when the answered request was sent + T − margin
//	margin = T/6 + tick/2 + T/12, but at least 3/2 tick
//
// The leader learns of the session's life from the server that the session is connected to, twice a tick. So an answer proves that the leader knows of
// what that server heard up to half a tick before, and that, with a request at least every T/6, is a sixth of T old at most. Where requests have not
// yet come so often for so long (an idle session only pings, every third of T), another sixth is taken off. Where they were due and did not come, or were
// not answered (the process, the network or the server stood still), all is taken off by which the latest one that had been answered half a tick before is
// older than that. And a leader that its followers have given up answers for up to one and a half ticks more.
type trust struct {
	timeout time.Duration
	margin  time.Duration
	tick    time.Duration // the longest that it can be
	sharp   bool          // the margin was given: nothing is taken off for want of steadiness

	stands bool
	until  instant
	skew   time.Duration // when last looked at
	deaf   time.Duration // what was sent before proves nothing: a clock has jumped since (monotonic)
	steady time.Duration // since when requests are to go out at least every T/6 (monotonic)
	heard  echoes        // of requests since then

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
	tick := cfg.tick
	if tick == 0 {
		tick = timeout / 2 // a timeout is at least two ticks
	}
	margin := cfg.margin
	if margin == 0 {
		margin = max(timeout/syncShare+tick/2+timeout/driftShare, cfg.tick*3/2)
	}
	// Field by field, but for vouch: that is read without the session's mutex.
	t.timeout, t.margin, t.tick, t.sharp = timeout, margin, tick, cfg.margin != 0
	t.stands, t.until, t.skew, t.deaf = false, instant{}, now.skew(), 0
	t.steadyFrom(now)
}

// steadyFrom: requests are to go out at least every T/6 from now on.
func (t *trust) steadyFrom(now instant) {
	t.steady = now.mono
	t.heard.since(now.mono - t.timeout/pingShare)
}

// credit is how long the answer to a request that was sent at that moment is good for.
func (t *trust) credit(sent instant) time.Duration {
	credit := t.timeout - t.margin
	if t.sharp {
		return credit
	}
	covered := t.timeout/syncShare + t.tick/2 // by the margin: how old the leader's knowledge may be
	missing := sent.mono - t.heard.before(sent.mono-t.tick/2) - covered
	if sent.mono-t.steady < covered {
		missing = max(missing, t.timeout/syncShare)
	}
	return credit - max(missing, 0)
}

// proved takes the answer to a request, after check has been called with the same moment, and tells whether trust came with it.
func (t *trust) proved(epoch uint64, sent, now instant) (gained bool) {
	until := sent.add(t.credit(sent))
	t.heard.answered(sent.mono, now.mono, t.timeout/grainShare)
	if sent.mono < t.deaf || now.reached(until) || until.mono <= t.until.mono {
		return false
	}
	gained = !t.stands
	t.stands, t.until = true, until
	t.vouch.Store(&voucher{epoch: epoch, until: until, skew: t.skew, jump: t.timeout / jumpShare})
	return gained
}

// check looks at the clocks and tells whether trust ended by that.
func (t *trust) check(now instant) (lapsed bool) {
	skew := now.skew()
	jumped := (skew - t.skew).Abs() > t.timeout/jumpShare
	t.skew = skew
	if !t.stands {
		return false
	}
	if jumped {
		t.deaf, t.until = now.mono, instant{}
	}
	if jumped || now.reached(t.until) {
		t.drop()
		return true
	}
	return false
}

// drop ends trust until the next proof.
func (t *trust) drop() {
	t.stands = false
	t.vouch.Store(nil)
}
