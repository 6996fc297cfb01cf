package lease

import (
	"sync/atomic"
	"time"
)

// Parts of the session's timeout T.
const (
	syncShare  = 6  // a sync goes out every T/6 while anything depends on the lease,
	hasteShare = 12 // and every T/12 while proofs are good for less than they could be
	driftShare = 12 // clocks may differ by so much over T
	leastShare = 4  // T/6 and T/12
	stillShare = 3  // so old may be what the leader knows if the server stood still, unnoticed, between two requests
	gapShare   = 3  // answers further apart than T/3 leave time for the election of another leader
	freshShare = 4  // a sync that is sent within T/4 of the last proof is answered before the gap is too large
	lateShare  = 48 // an answer that takes T/48 longer than others may have been kept by a server that stood still
	grainShare = 64 // what was sent within T/64 counts as one request
	jumpShare  = 10 // clocks that differ by more than T/10 all at once have jumped
	checkShare = 60 // how often the clocks are compared
	sleepLimit = 3  // a machine that slept for 3T finds its session expired: if the session is alive, the wall clock was set
)

// Config has what is known beside the timeout.
type Config struct {
	Tick   time.Duration // of the servers; 0: unknown
	Margin time.Duration // in place of the one that is computed; 0: none is given
}

// Lease is how long the session may be assumed alive, by this process's own clocks: up to the
// instant *trusted until*. Only answers to writes extend it, since a quorum has agreed to them, and
// answers to syncs for as long as they follow on one another.
//
//	until  = when the answered request was sent + T − margin
//	margin = T/6 + tick/2 + T/12, but at least T/3, and 3/2 tick
//
// A sync is answered by the leader alone. A leader that stood still, was deposed meanwhile and does
// not know it answers too, and takes up sessions that its successor has ended. So the first proof
// on a connection, and after each gap in the answers in which another leader can have been elected,
// is a write.
//
// An answer is good for less than T, by as much as the leader may lag behind in its knowledge of
// this session. The leader learns of the session from the server that it is connected to: it pings
// the server twice a tick, and the server answers with the sessions that it has heard of. Messages
// between the two stay in order. So when a proof is answered, the server has answered every ping
// that the leader sent before it took part in that proof, and those answers reach the leader ahead
// of the next proof. Therefore the leader knows, when it takes part in a proof, what the server had
// heard half a tick before the previous proof was sent, even if either of them has stalled
// meanwhile. The margin covers proofs every T/6.
//
// A session that was idle has no recent proof, only pings, which the server answers alone. If the
// server passes on in time, the leader knows of what the server had heard half a tick before. If
// the server stalled, unnoticed, right after an answer, the leader knows of what had been heard
// half a tick before that one.
//
// And a leader that its followers have given up answers for up to one and a half ticks more.
//
// Before a method takes an answer, [Lease.Check] has to be called with the same moment.
type Lease struct {
	// What follows from the timeout: see measure.
	cfg     Config
	timeout time.Duration
	tick    time.Duration // the longest that it can be
	least   time.Duration // what has to be taken off the timeout when requests go out every T/6
	margin  time.Duration // what is taken off at least: least, or what was given
	// The lease itself.
	stands bool
	until  Instant // its end, or when it ended
	proof  Instant // when the request was sent that until comes from
	view   *View
	// The clocks.
	skew      time.Duration // the difference between them, when last checked
	notBefore time.Duration // proofs sent earlier than this are ignored: a clock has jumped since (monotonic)
	// When the next proof is asked for.
	lastSent Instant       // when the last request went out whose answer may be a proof
	every    time.Duration // how often one is asked for now
	// What is known of the connection: for how long a proof is good depends on it (see unknown),
	// and whether a sync is a proof (see agreed).
	acks   history       // the answers on it
	proofs history       // of these, the ones in which the leader took part
	quorum bool          // the server was in a quorum on it...
	anchor time.Duration // ...at this moment or later, which each proof moves on (monotonic)
}

// New makes a lease that does not stand yet. Any goroutine may read it by the view.
func New(cfg Config, view *View) Lease { return Lease{cfg: cfg, view: view} }

// View is the lease as it may be read from any goroutine, without a lock.
type View struct{ now atomic.Pointer[Reading] }

// Read is the lease as it stands now; nil if it does not.
func (v *View) Read() *Reading { return v.now.Load() }

// Reading has all that tells whether the lease stands; it is never changed.
type Reading struct {
	epoch uint64
	until Instant
	skew  time.Duration // between the clocks
	jump  time.Duration // a change of that by more is the jump of a clock
}

// Of tells whether it is a lease of this epoch.
func (r *Reading) Of(epoch uint64) bool { return r != nil && r.epoch == epoch }

// Good tells whether the session may be assumed alive at this moment.
func (r *Reading) Good(now Instant) bool {
	return r != nil && !now.Reached(r.until) && (now.skew()-r.skew).Abs() <= r.jump
}

// Stands tells whether the session may be assumed alive, as far as has been noticed.
func (l *Lease) Stands() bool { return l.stands }

// Until is the end of the lease, or when it ended; zero if there was none in this epoch.
func (l *Lease) Until() Instant { return l.until }

// Margin is what is taken off the timeout at least.
func (l *Lease) Margin() time.Duration { return l.margin }

// Longest is how long a proof is good for at most.
func (l *Lease) Longest() time.Duration { return l.timeout - l.margin }

// SyncEvery is how often a proof is to be asked for while anything depends on the lease: every T/6,
// and every T/12 while proofs are good for less than [Lease.Longest], since each rests on those
// before it.
func (l *Lease) SyncEvery() time.Duration { return l.every }

// CheckEvery is how often the clocks are to be compared while anything is held.
func (l *Lease) CheckEvery() time.Duration {
	const least, most = 20 * time.Millisecond, 100 * time.Millisecond
	return min(max(l.timeout/checkShare, least), most)
}

// Asked records that a proof is being asked for.
func (l *Lease) Asked(now Instant) { l.lastSent = now }

// Sent records that a request went out whose answer may be a proof.
func (l *Lease) Sent(at Instant) {
	if at.Mono > l.lastSent.Mono {
		l.lastSent = at
	}
}

// Due tells whether a proof is to be asked for now: none was for as long as [Lease.SyncEvery].
func (l *Lease) Due(now Instant) bool { return now.Mono-l.lastSent.Mono >= l.SyncEvery() }

// NextSync is when the next proof is to be asked for.
func (l *Lease) NextSync(now Instant) Instant {
	if at := l.lastSent.Add(l.SyncEvery()); l.lastSent != (Instant{}) && !now.Reached(at) {
		return at
	}
	return now.Add(l.SyncEvery())
}

// Begin starts an epoch, without a proof.
func (l *Lease) Begin(timeout time.Duration, now Instant) {
	l.measure(timeout)
	l.stands, l.until, l.proof = false, Instant{}, Instant{}
	l.skew, l.notBefore = now.skew(), 0
	l.Connected(now, false, now)
}

// End ends the lease with its epoch.
func (l *Lease) End() {
	l.expire()
	l.until = Instant{}
}

func (l *Lease) measure(timeout time.Duration) {
	tick := l.cfg.Tick
	if tick == 0 {
		tick = timeout / 2 // a timeout is at least two ticks
	}
	l.timeout, l.tick = timeout, tick
	l.least = max(timeout/leastShare+tick/2, timeout/stillShare, l.cfg.Tick*3/2)
	l.margin = l.cfg.Margin
	if l.margin == 0 {
		l.margin = l.least
	}
	l.every = timeout / syncShare
}

// Retime goes over to another negotiated timeout. A lease that stands goes on for as long as the
// shorter of the two allows.
func (l *Lease) Retime(timeout time.Duration) {
	lacking := l.Longest() - (l.until.Mono - l.proof.Mono) // so much less than Longest the proof was good for
	l.measure(timeout)
	if !l.stands {
		return
	}
	if until := l.proof.Add(l.Longest() - max(lacking, 0)); until.Mono < l.until.Mono {
		l.until = until
	}
	r := *l.view.now.Load()
	r.until, r.jump = l.until, timeout/jumpShare
	l.view.now.Store(&r)
}

// Connected takes in that there is a connection, on which the session was asked for at that moment.
// The present leader has heard of that. If the connect request created the session, a quorum has.
func (l *Lease) Connected(asked Instant, created bool, now Instant) {
	l.acks.restart(asked.Mono)
	l.proofs.restart(asked.Mono)
	l.quorum, l.anchor = created && now.Mono-asked.Mono <= l.timeout/gapShare, asked.Mono
}

// Pinged takes the answer to a ping: the server has heard of the session. The leader may not have.
func (l *Lease) Pinged(sent, now Instant) {
	if sent.Mono >= l.notBefore {
		l.acks.add(sent.Mono, now.Mono, l.timeout/grainShare)
	}
}

// credit is how long the answer to a request that was sent at that moment is good for.
func (l *Lease) credit(sent Instant) time.Duration {
	needed := max(l.unknown(sent.Mono), l.least)
	if l.margin >= l.least {
		return l.timeout - max(l.margin, needed)
	}
	return l.timeout - l.margin - (needed - l.least) // the margin that was given takes the place of least, and of no more
}

// unknown is for how long before a proof was sent the leader may have heard nothing of the session,
// by the rules above [Lease].
func (l *Lease) unknown(sent time.Duration) time.Duration {
	half := l.tick / 2
	punctual := sent - l.acks.sentBefore(sent-half) + l.timeout/driftShare
	if before := l.proofs.sentBefore(sent); sent-before <= l.timeout/gapShare { // proofs follow on one another
		return max(punctual, sent-l.acks.sentBefore(before-half))
	}
	alive := l.acks.aliveAt(sent, half, l.timeout/lateShare)
	return max(punctual, sent-l.acks.sentBefore(alive-half))
}

// agreed tells whether a quorum stands behind an answer: to a write, or to a sync that follows on
// another proof so soon that no other leader can have been elected between them.
func (l *Lease) agreed(sent, now Instant, write bool) bool {
	gap := l.timeout / gapShare
	following := l.quorum && now.Mono-l.anchor <= gap
	l.quorum = following || write && now.Mono-sent.Mono <= gap
	if l.quorum {
		l.anchor = max(l.anchor, sent.Mono)
	}
	return following || write
}

// SyncProves tells whether a sync that is sent at this moment will do as a proof. Otherwise it
// takes a write.
func (l *Lease) SyncProves(now Instant) bool {
	return l.quorum && now.Mono-l.anchor <= l.timeout/freshShare
}

// Proved takes the answer to a request. gained: the lease stands by it, and did not before.
// refused: the answer proves nothing, but that of a write would.
func (l *Lease) Proved(epoch uint64, sent, now Instant, write bool) (gained, refused bool) {
	if sent.Mono < l.notBefore {
		return false, false
	}
	credit := l.credit(sent)
	until := sent.Add(credit)
	l.acks.add(sent.Mono, now.Mono, l.timeout/grainShare)
	l.proofs.add(sent.Mono, now.Mono, l.timeout/grainShare)
	l.every = l.timeout / syncShare
	if credit < l.Longest() {
		l.every = l.timeout / hasteShare
	}
	if !l.agreed(sent, now, write) {
		return false, true
	}
	if now.Reached(until) || until.Mono <= l.until.Mono {
		return false, false
	}
	gained = !l.stands
	l.stands, l.until, l.proof = true, until, sent
	l.view.now.Store(&Reading{epoch: epoch, until: until, skew: l.skew, jump: l.timeout / jumpShare})
	return gained, false
}

// Check compares the clocks and tells whether the lease has ended.
func (l *Lease) Check(now Instant) (expired bool) {
	skew := now.skew()
	by := skew - l.skew
	jumped := by.Abs() > l.timeout/jumpShare
	l.skew = skew
	stood := l.stands
	switch {
	case jumped:
		l.Jumped(now)
		if by > 0 && by < sleepLimit*l.timeout {
			l.acks.age(by)
			l.proofs.age(by)
		}
	case stood && now.Reached(l.until):
		l.expire()
	}
	return stood && !l.stands
}

// Jumped ends the lease since one of the clocks has jumped: the machine may have slept. No request
// that was sent before proves anything, nor does the answer of a leader alone.
func (l *Lease) Jumped(now Instant) {
	l.notBefore, l.quorum = now.Mono, false
	if l.stands {
		l.until = Instant{}
		l.expire()
	}
}

func (l *Lease) expire() {
	l.stands = false
	l.view.now.Store(nil)
}

// Instant is a moment by both clocks of the machine. The monotonic one stands still while the
// machine sleeps; the wall clock can be set.
type Instant struct {
	Mono time.Duration // since some moment of the process
	Wall time.Time
}

// Add is the moment that is later by d by both clocks.
func (i Instant) Add(d time.Duration) Instant { return Instant{i.Mono + d, i.Wall.Add(d)} }

// Reached tells whether either clock has come to the other moment.
func (i Instant) Reached(o Instant) bool { return i.Mono >= o.Mono || !i.Wall.Before(o.Wall) }

// Left is how long it takes until either clock reaches the other moment.
func (i Instant) Left(o Instant) time.Duration { return min(o.Mono-i.Mono, o.Wall.Sub(i.Wall)) }

// Since is how long ago the other moment was, by the clock that has gone further.
func (i Instant) Since(o Instant) time.Duration { return max(i.Mono-o.Mono, i.Wall.Sub(o.Wall)) }

// skew is the difference between the clocks. It changes when one of them jumps.
func (i Instant) skew() time.Duration { return time.Duration(i.Wall.UnixNano()) - i.Mono }
