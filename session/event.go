package session

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/troupe-go/troupe/internal/enum"
)

// Event is a change of a session, or of a recipe on it, as a function of [WithEvents] is told it.
// Fields that do not belong to its Kind are zero.
type Event struct {
	Kind EventKind
	Time time.Time
	Took time.Duration // how long that which has ended lasted: see the kinds

	Recipe   string // "lock", "election", "queue", …; "" if the event is the session's own
	Path     string // of the recipe, absolute
	Name     string // of the process or member that does it; of an item or a transaction, its id
	From, To string // the states, of the session or of the recipe

	Token     int64 // the fencing token
	SessionID int64
	Epoch     uint64
	Attempt   int   // of an item, as queue.Item.Attempt has it; of EventRestarted, how often it was
	Err       error // why; nil if nothing failed

	Dropped uint64 // how many events before this one were dropped, since this function did not keep up
}

// EventKind is the kind of an [Event].
type EventKind int

// The kinds of events. Those of the session itself come first, up to EventClosed. The comment says
// what Took is.
const (
	EventStarted    EventKind = iota // the session begins to connect
	EventConnected                   // there is a connection, and trust (how long there was not)
	EventSuspended                   // the connection is lost
	EventUntrusted                   // trust has ended (how long the leader was not heard)
	EventEpochBegan                  // a ZooKeeper session has begun (how long there was none)
	EventEpochEnded                  // it has ended, by Err, and everything that was held in it was told before (how long the servers were not heard)
	EventStalled                     // this process was found to have stood still, while something was held (for how long)
	EventClosed                      // the session is over: the last event

	EventState     // a recipe's state has changed
	EventRestarted // a recipe's actor was restarted after a panic

	EventWanted      // a possession is asked for
	EventQueued      // the contender's znode exists, whose token this is
	EventGranted     // the possession is given (how long it was waited for)
	EventReleased    // the possession was given up (how long it was held)
	EventLost        // the possession was lost, by Err; its Done has closed (how long it was held)
	EventRevokeAsked // another client asks for the possession
	EventReady       // the leader says that it is ready (since the grant)

	EventItemPut     // items were put into a queue: Attempt is how many (the call)
	EventItemClaimed // an item was claimed (since it was put, by the server's clock)
	EventItemSettled // an item is done with: To is "acknowledged", "returned" or "lost" (since it was claimed)
	EventItemDead    // an item has become a dead letter, by Err

	EventVoted   // a site has voted on a transaction: To is the vote
	EventDecided // a coordinator has decided, or a site has learned, how a transaction ends: To is the outcome
)

// String is the kind's name, in small letters: "epoch began".
func (k EventKind) String() string {
	return enum.Name("EventKind", k, "started", "connected", "suspended", "untrusted", "epoch began", "epoch ended", "stalled", "closed",
		"state", "restarted", "wanted", "queued", "granted", "released", "lost", "revoke asked", "ready",
		"item put", "item claimed", "item settled", "item dead", "voted", "decided")
}

// WithEvents has f called with every change of the session and of the recipes on it, one at a time,
// in order, by a goroutine of the session's. Of one possession the order is EventWanted,
// EventQueued, EventGranted, and EventReleased or EventLost; of several recipes it is that in which
// the changes were noticed. It may be given more than once; each function has a queue of its own.
//
// f is for metrics and records, and decides nothing: a possession has [Hold.Done]. f may take its
// time. The session waits for it only when it is closed, and then for a tenth of a second: what is
// left is dropped. A queue has 1,024 places, and 256 more for the session's own events; the last
// event, EventClosed, always has one. What does not fit is dropped, and counted in the Dropped of
// the next event. A panic in f is contained; the first is logged.
func WithEvents(f func(*Session, Event)) Option {
	return func(c *config) error {
		if f == nil {
			return errors.New("WithEvents: f: nil")
		}
		c.hooks = append(c.hooks, f)
		return nil
	}
}

const (
	hookPlaces = 1024
	ownPlaces  = 256
	lastWait   = 100 * time.Millisecond // for a hook that is at work when the session is closed
	latest     = 64                     // events of each of two kinds that Snapshot shows
)

// events are the latest events of a session, and the hooks that are told them.
type events struct {
	mu    sync.Mutex
	rings [2]ring            // of items, which come often; of all else
	turn  uint64             // of the next batch: see inTurn
	early map[uint64][]Event // batches whose turn has not come
	hooks []*hook
}

// ring keeps the latest events.
type ring struct {
	at    int // where the next goes
	slots [latest]Event
}

func newEvents(s *Session) *events {
	e := &events{early: make(map[uint64][]Event)}
	for _, f := range s.cfg.hooks {
		e.hooks = append(e.hooks, &hook{session: s, f: f})
	}
	return e
}

// add tells an event to all hooks.
func (e *events) add(ev Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tell(&ev)
}

// tell is add with the mutex. ev stays on the caller's stack: without a hook nothing is allocated.
func (e *events) tell(ev *Event) {
	if ev.Time.IsZero() {
		ev.Time = time.Now()
	}
	r := &e.rings[1]
	if ev.Kind >= EventItemPut && ev.Kind <= EventItemDead {
		r = &e.rings[0]
	}
	r.slots[r.at] = *ev
	r.at = (r.at + 1) % latest
	for _, h := range e.hooks {
		h.put(*ev)
	}
}

// inTurn adds the events of a section of the session's mutex. The section took its turn under the
// mutex, and adds its events when it has finished the holds that it ended; another that came behind
// it may be done before, and then waits here.
func (e *events) inTurn(turn uint64, batch []Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.early[turn] = batch
	for batch, come := e.early[e.turn]; come; batch, come = e.early[e.turn] {
		delete(e.early, e.turn)
		e.turn++
		for i := range batch {
			e.tell(&batch[i])
		}
	}
}

// list returns the latest events, the oldest first: of items, or of all else.
func (e *events) list(items bool) (list []Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := &e.rings[1]
	if items {
		r = &e.rings[0]
	}
	for i := range latest {
		if ev := r.slots[(r.at+i)%latest]; !ev.Time.IsZero() {
			list = append(list, ev)
		}
	}
	return list
}

// dropped is how many events the hooks were not told, all together.
func (e *events) dropped() (n uint64) {
	for _, h := range e.hooks {
		h.mu.Lock()
		n += h.lost
		h.mu.Unlock()
	}
	return n
}

// close waits for the hooks, for lastWait in all. It is called when the last event was added.
func (e *events) close() {
	ctx, cancel := context.WithTimeout(context.Background(), lastWait) // of the hooks, whoever closes the session
	defer cancel()
	for _, h := range e.hooks {
		h.close(ctx.Done())
	}
}

// hook is a function of [WithEvents] with its queue. While the queue is not empty it has a
// goroutine.
type hook struct {
	session *Session
	f       func(*Session, Event)

	mu      sync.Mutex
	queue   []Event
	dropped uint64        // since the last one that was put into the queue
	lost    uint64        // all that were dropped
	idle    chan struct{} // closed when the goroutine ends; nil: there is none
	closed  bool          // nothing is told any more
	logged  bool          // a panic was
}

// put queues an event, and does not wait.
func (h *hook) put(ev Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	places := hookPlaces
	if ev.Kind <= EventClosed {
		places += ownPlaces
	}
	if len(h.queue) >= places && ev.Kind != EventClosed {
		h.dropped++
		h.lost++
		return
	}
	ev.Dropped, h.dropped = h.dropped, 0
	h.queue = append(h.queue, ev)
	h.start()
}

// start starts the goroutine if there is work and none runs. With the mutex.
func (h *hook) start() {
	if h.idle == nil && len(h.queue) > 0 && !h.closed {
		h.idle = make(chan struct{})
		go h.run(h.idle) // owned by the hook; ends with the queue, or at the session's close
	}
}

// run tells what is in the queue, until it is empty. If f ends the goroutine, another goes on.
func (h *hook) run(idle chan struct{}) {
	defer func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.idle = nil
		close(idle)
		h.start()
	}()
	for ev, more := h.next(); more; ev, more = h.next() {
		h.call(ev)
	}
}

func (h *hook) next() (ev Event, more bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.queue) == 0 || h.closed {
		return ev, false
	}
	ev = h.queue[0]
	h.queue = h.queue[1:]
	return ev, true
}

func (h *hook) call(ev Event) {
	defer func() {
		if reason := recover(); reason != nil && !h.logged {
			h.logged = true
			h.session.log.Error("a function of WithEvents panicked; further panics of it are not logged", "panic", fmt.Sprint(reason), "stack", string(debug.Stack()))
		}
	}()
	h.f(h.session, ev)
}

// close waits until the queue is empty, or over, and ends the hook.
func (h *hook) close(over <-chan struct{}) {
	defer func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.closed, h.queue = true, nil
	}()
	for {
		h.mu.Lock()
		idle := h.idle
		h.mu.Unlock()
		if idle == nil {
			return
		}
		select {
		case <-idle:
		case <-over:
			return
		}
	}
}
