package session

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/seeded"
	"github.com/troupe-go/troupe/internal/stack"
	"github.com/troupe-go/troupe/session/internal/lease"
)

// state is what the session's mutex guards. Only [state.lock] leads to it. Every method of
// [guarded], and of the types that it contains, needs the mutex.
type state struct {
	mu sync.Mutex
	in guarded
}

// lock takes the mutex; unlock of what is returned releases it. Call unlock by defer if anything
// may panic or end a hold: a panic must not leave the mutex locked, since then nothing could end a
// hold any more, nor may it lose the end of a hold that has begun.
func (s *state) lock() *guarded {
	s.mu.Lock()
	return &s.in
}

// guarded is the part of a session that is guarded by its mutex.
type guarded struct {
	session *Session
	// Its life.
	started  bool
	deferred []func() // to be called after the start
	closing  bool
	// Epochs.
	epochs uint64        // how many there have been
	cur    *epoch        // the present one; also one that has ended, until the next is opened
	cause  error         // why the latest one that has ended did
	gate   *notify.Latch // closed and replaced when requests may have become possible, or impossible for good
	keeper keeper        // trust in cur
	story  story         // the log
	// Events: see events.inTurn.
	was   State     // the state that was told last
	left  time.Time // when that was Connected last, unless it is; zero: never
	told  []Event   // to be added by unlock
	turns uint64    // how many sections have had events, or ended holds
	// What recipes have.
	clients     map[*client]struct{}
	clientCount uint64             // how many there have been
	holds       map[*Hold]struct{} // the possessions that have not ended
	ended       []*Hold            // to be finished by unlock
	record      record

	dataWatches  map[string]*sharedWatch[Data]
	childWatches map[string]*sharedWatch[Children]
}

func newGuarded(s *Session) guarded {
	return guarded{
		session: s, gate: new(notify.Latch), keeper: newKeeper(s), holds: make(map[*Hold]struct{}), clients: make(map[*client]struct{}),
		record:      record{make(map[*ephemeral]struct{}), make(map[string]*ephemeral), make(map[createKey]*notify.Latch), make(map[joinKey]*joins)},
		dataWatches: make(map[string]*sharedWatch[Data]), childWatches: make(map[string]*sharedWatch[Children]),
	}
}

// unlock releases the mutex, finishes the holds that were ended under it, and writes the lines of
// the log that were said under it.
func (g *guarded) unlock() {
	ended, lines, told, turn := g.ended, g.story.lines, g.told, g.turns
	g.ended, g.story.lines, g.told = nil, nil, nil
	tells := len(ended)+len(told) > 0 // holds that end are told of by their recipes, before what comes later
	if tells {
		g.turns++
	}
	g.session.state.mu.Unlock()
	if len(ended) > 0 {
		finish(ended)
	}
	if tells {
		g.session.events.inTurn(turn, told)
	}
	for _, log := range lines {
		log()
	}
}

func (g *guarded) status() Status {
	st := Status{State: g.stateNow(), Timeout: g.session.cfg.timeout, Cause: g.cause}
	e := g.cur
	if e == nil {
		return st
	}
	st.Epoch, st.SessionID, st.Server, st.Address = e.number, e.sessionID, e.server, e.address
	if e.timeout > 0 {
		st.Timeout = e.timeout
	}
	if down := g.outage(nil); down != nil {
		st.Cause = down
		if g.cause != nil { // of an epoch before this one
			st.Cause = fmt.Errorf("%w; before that: %w", down, g.cause)
		}
	}
	if until := g.keeper.lease.Until(); until != (lease.Instant{}) {
		st.TrustedUntil = until.Wall
	}
	return st
}

func (g *guarded) stateNow() State {
	e := g.cur
	switch {
	case g.closing:
		return Closed
	case e != nil && e.ended:
		return Lost
	case e == nil || !e.begun:
		return Connecting
	case g.keeper.suspected:
		return Untrusted
	case !e.up:
		return Suspended
	}
	return Connected
}

// changed wakes those who wait for a connection, and publishes the status.
func (g *guarded) changed() {
	g.gate.Close()
	g.gate = new(notify.Latch)
	g.session.topic.Publish(g.status())
	g.emitState()
}

// connectedAt is when the session was connected last, which may be now; zero: never.
func connectedAt(s *Session) time.Time {
	g := s.state.lock()
	defer g.unlock()
	if g.was == Connected {
		return time.Now()
	}
	return g.left
}

// emit adds an event of the session's own when the mutex is released.
func (g *guarded) emit(ev Event) {
	if e := g.cur; e != nil && ev.Epoch == 0 {
		ev.Epoch, ev.SessionID = e.number, e.sessionID
	}
	ev.Time = time.Now()
	g.told = append(g.told, ev)
}

// emitState emits a change of the state that no other event tells.
func (g *guarded) emitState() {
	from, to := g.was, g.stateNow()
	if g.was = to; from == to {
		return
	}
	if from == Connected {
		g.left = time.Now()
	}
	ev := Event{From: from.String(), To: to.String(), Err: g.outage(nil)}
	switch to {
	case Connected:
		if ev.Kind = EventConnected; !g.left.IsZero() {
			ev.Took = time.Since(g.left)
		}
	case Suspended:
		ev.Kind = EventSuspended
	case Untrusted:
		ev.Kind, ev.Took = EventUntrusted, g.story.silent(g.session.clock.now())
	default:
		return // EventStarted, EventEpochEnded, EventClosed
	}
	g.emit(ev)
}

// current is the present epoch if it has this number and has not ended.
func (g *guarded) current(number uint64) *epoch {
	if g.cur == nil || g.cur.number != number || g.cur.ended {
		return nil
	}
	return g.cur
}

// close refuses all requests from now on and ends all holds; false if that was done before.
func (s *state) close(cause error) (first bool) {
	g := s.lock()
	defer g.unlock()
	if g.closing {
		return false
	}
	g.closing = true
	g.session.lifetime.refuse.Set(cause) // before the waiters wake, who ask for it
	g.endHolds(ErrClosed)
	g.tellDeleted()
	g.keeper.stop()
	g.changed()
	return true
}

func (g *guarded) inOrder() []*client {
	return slices.SortedFunc(maps.Keys(g.clients), func(a, b *client) int { return int(a.number) - int(b.number) })
}

func (g *guarded) has(t *client) bool {
	_, is := g.clients[t]
	return is
}

// removeClient ends a client's holds, and returns its znodes in the record, and the present epoch.
func (s *state) removeClient(t *client) ([]*ephemeral, *epoch) {
	g := s.lock()
	defer g.unlock()
	delete(g.clients, t)
	delete(g.keeper.standby, t)
	for h := range t.holds {
		g.endHold(h, ErrReleased)
	}
	return g.record.of(t), g.cur
}

func (g *guarded) stands(h *Hold) bool {
	_, stands := g.holds[h]
	return stands
}

// endHold ends a hold; false if it had ended, which it does here if the clocks say that trust ran
// out before.
func (g *guarded) endHold(h *Hold, cause error) (stood bool) {
	g.keeper.doubt(h)
	if stood = g.stands(h); stood {
		g.makeOver(h, cause)
		g.holdLost(h, cause)
	}
	return stood
}

// makeOver ends a hold; unlock finishes that.
func (g *guarded) makeOver(h *Hold, cause error) {
	delete(g.holds, h)
	delete(h.client.holds, h)
	h.reason = ending(cause)
	h.ended.Store(true)
	g.ended = append(g.ended, h)
}

// endHolds ends all holds, except those that outlive that cause, and returns their absolute paths.
func (g *guarded) endHolds(cause error) (lost []string) {
	for h := range g.holds {
		if h.client.lasting && (cause == ErrUntrusted || cause == ErrSuspended) {
			continue // see client.UntilExpiry
		}
		g.makeOver(h, cause)
		lost = append(lost, h.session.Path(h.path))
	}
	slices.Sort(lost)
	return lost
}

// tasks are the goroutines of a session. Each is a request on its way, or the reaction to a timer;
// each ends with the connection that it waits for or with the session, and the session's end waits
// for all of them.
type tasks struct {
	life    context.Context // ends with the session
	cut     context.CancelFunc
	crashed func(reason any) // told of a panic
	source  *seeded.Source

	mu      sync.Mutex
	ended   bool
	running sync.WaitGroup
}

// catch is deferred by functions that run on the session's behalf outside of its actor: a panic in
// one goes no further. It is not known what it left undone, so the epoch ends, and every hold in
// it, with [ErrRestarted], as with a panic of the session's own actor.
func (t *tasks) catch() {
	if reason := recover(); reason != nil {
		t.crashed(reason)
	}
}

func (t *tasks) call(f func()) {
	defer t.catch()
	f()
}

// run starts a task; false if the session has ended.
func (t *tasks) run(f func()) bool {
	if !t.begin() {
		return false
	}
	turn := t.source.Turn(1)
	go func() { // owned by the session; see tasks
		defer t.running.Done()
		defer t.catch()
		if turn > 0 {
			<-time.After(turn)
		}
		stack.Widen()
		f()
	}()
	return true
}

func (t *tasks) begin() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return false
	}
	t.running.Add(1)
	return true
}

// end refuses further tasks and waits for those that run.
func (t *tasks) end() {
	t.mu.Lock()
	t.ended = true
	t.mu.Unlock()
	t.running.Wait()
}
