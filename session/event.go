package session

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/troupe-go/troupe/internal/enum"
	"github.com/troupe-go/troupe/internal/notify"
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
	Attempt   int   // of an item, as queue.Item.Attempt has it; of EventItemPut, how many items; of EventRestarted, how often it was
	Err       error // why; nil if nothing failed

	Dropped uint64 // how many events before this one were dropped, since this function did not keep up
}

// EventKind is the kind of an [Event].
type EventKind int

// The kinds of events. Those of the session itself come first, up to EventClosed. The comment says
// what Took is.
const (
	EventStarted    EventKind = iota // the session begins to connect
	EventConnected                   // there is a connection, and trust (how long there was not, unless it is the first)
	EventSuspended                   // the connection is lost
	EventUntrusted                   // trust has ended (how long the leader was not heard)
	EventEpochBegan                  // a ZooKeeper session has begun (how long there was none)
	EventEpochEnded                  // it has ended, by Err, and the end of all that was held in it was told before, but for items that are being settled (how long the servers were not heard)
	EventStalled                     // this process was found to have stood still, while something was held (for how long)
	EventClosed                      // the session is over, by Err: the last event

	EventState     // a recipe's state has changed (how long it was in the one before)
	EventRestarted // a recipe's actor was restarted after a panic

	EventWanted      // a possession is asked for
	EventQueued      // the contender's znode exists, whose token this is
	EventGranted     // the possession is given (how long it was waited for)
	EventWithdrawn   // what was asked for is asked for no more, and was not given: Err says why, nil if it was withdrawn (how long it was waited for)
	EventReleased    // the possession was given up (how long it was held)
	EventLost        // the possession was lost, by Err; its Done has closed (how long it was held)
	EventRevokeAsked // another client asks for the possession
	EventReady       // the leader says that it is ready (since the grant)

	EventItemPut     // items were put into a queue, or, with Err, were not (To: "full", "duplicate", ""): Attempt is how many, Name the first (the call)
	EventItemClaimed // an item was claimed
	EventItemSettled // an item is done with: To is "acknowledged", "returned" or "lost" (since it was claimed)
	EventItemDead    // an item has become a dead letter, by Err; EventItemSettled tells the end of its possession

	EventVoted   // a site has voted on a transaction: To is the vote
	EventDecided // a coordinator has decided, or a site has learned, how a transaction ends: To is the outcome
)

// String is the kind's name, in small letters: "epoch began".
func (k EventKind) String() string {
	return enum.Name("EventKind", k, "started", "connected", "suspended", "untrusted", "epoch began", "epoch ended", "stalled", "closed",
		"state", "restarted", "wanted", "queued", "granted", "withdrawn", "released", "lost", "revoke asked", "ready",
		"item put", "item claimed", "item settled", "item dead", "voted", "decided")
}

// WithEvents has f called with every change of the session and of the recipes on it, one at a time,
// in order, by a goroutine of the session's. Of one possession the order is EventWanted,
// EventQueued, EventGranted, and EventReleased or EventLost; of several recipes it is that in which
// the changes were noticed. Each EventWanted has one answer, EventGranted or EventWithdrawn; a
// standing intent that goes on after its possession is told as wanted again. What a downgrade gives
// was not wanted. WithEvents may be given more than once; each function has a queue of its own.
//
// f is for metrics and records, and decides nothing: a possession has [Hold.Done]. f may take its
// time, and may call the session. The session waits for it only when it is closed, for a tenth of a
// second; if f is at work for longer, EventClosed comes next. A queue has 1,024 places, and 256
// more for the session's own events; EventClosed, the last, always has one. What does not fit is
// dropped, and counted in the Dropped of the next event. A panic in f is contained; the first is
// logged.
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
	lastWait   = 100 * time.Millisecond // for hooks that are at work when the session is closed
	latest     = 64                     // events of each of two kinds that Snapshot shows
)

// events are the latest events of a session, and the hooks that are told them.
type events struct {
	mu      sync.Mutex
	kept    [2][latest]Event   // of items, which come often, the second: the n-th is at n % latest
	told    [2]int             // how many there have been
	turn    uint64             // of the next batch: see inTurn
	early   map[uint64][]Event // batches whose turn has not come
	closed  bool               // the last event was told
	hooks   []*hook
	dropped uint64 // by the hooks, all together
}

func newEvents(s *Session) *events {
	e := &events{early: make(map[uint64][]Event)}
	for _, f := range s.cfg.hooks {
		e.hooks = append(e.hooks, &hook{events: e, session: s, f: f})
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
	if e.closed {
		return // of an actor that the session's end did not wait for
	}
	e.closed = ev.Kind == EventClosed
	if ev.Time.IsZero() {
		ev.Time = time.Now()
	}
	of := 0
	if ev.Kind >= EventItemPut && ev.Kind <= EventItemDead {
		of = 1
	}
	e.kept[of][e.told[of]%latest] = *ev
	e.told[of]++
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

// describe adds the latest events to a snapshot, the oldest first.
func (e *events) describe(snap *Snapshot) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for of, list := range []*[]Event{&snap.Events, &snap.ItemEvents} {
		for n := max(0, e.told[of]-latest); n < e.told[of]; n++ {
			*list = append(*list, e.kept[of][n%latest])
		}
	}
	snap.Dropped = e.dropped
}

// close waits for the hooks, for lastWait in all. What they have not been told then is dropped, but
// for the last event: a hook that is still at work is told that next.
func (e *events) close() {
	ctx, cancel := context.WithTimeout(context.Background(), lastWait) // whoever closes the session
	defer cancel()
	for _, h := range e.hooks {
		_ = notify.Wait(ctx, h.over.C())
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, h := range e.hooks {
		for ; h.next < len(h.queue)-1; h.next++ {
			h.queue[h.next+1].Dropped += h.queue[h.next].Dropped + 1
			e.dropped++
		}
	}
}

// hook is a function of [WithEvents] with its queue, which the mutex of events guards. From the
// first event to the last there is a goroutine.
type hook struct {
	events  *events
	session *Session
	f       func(*Session, Event)
	queue   []Event
	next    int          // the place of the first event that f was not told
	more    *sync.Cond   // signalled when there is one; nil: there is no goroutine yet
	dropped uint64       // since the last one that was put into the queue
	logged  bool         // a panic was
	over    notify.Latch // the last event was told
}

// put queues an event, and does not wait.
func (h *hook) put(ev Event) {
	places := hookPlaces
	if ev.Kind <= EventClosed {
		places += ownPlaces
	}
	if len(h.queue)-h.next >= places && ev.Kind != EventClosed {
		h.dropped++
		h.events.dropped++
		return
	}
	if 2*h.next > len(h.queue) && len(h.queue) == cap(h.queue) {
		h.queue, h.next = slices.Delete(h.queue, 0, h.next), 0
	}
	ev.Dropped, h.dropped = h.dropped, 0
	h.queue = append(h.queue, ev)
	if h.more == nil {
		h.more = sync.NewCond(&h.events.mu)
		go h.run() // owned by the hook; ends with the last event
	}
	h.more.Signal()
}

// run tells what is in the queue, up to the last event. If f ends the goroutine, another goes on.
func (h *hook) run() {
	h.events.mu.Lock()
	defer h.events.mu.Unlock()
	last := false
	defer func() {
		if last {
			h.over.Close()
		} else {
			go h.run()
		}
	}()
	for !last {
		for h.next == len(h.queue) {
			if h.queue, h.next = h.queue[:0], 0; cap(h.queue) > latest {
				h.queue = nil // a burst is over
			}
			h.more.Wait()
		}
		ev := h.queue[h.next]
		h.next++
		last = ev.Kind == EventClosed
		h.call(ev)
	}
}

// call calls f without the mutex.
func (h *hook) call(ev Event) {
	h.events.mu.Unlock()
	defer h.events.mu.Lock()
	defer func() {
		if reason := recover(); reason != nil && !h.logged {
			h.logged = true
			h.session.log.Error("a function of WithEvents panicked; further panics of it are not logged", "panic", fmt.Sprint(reason), "stack", string(debug.Stack()))
		}
	}()
	h.f(h.session, ev)
}
