package session

import (
	"slices"

	"github.com/troupe-go/troupe/session/internal/link"
)

// watchKind is what of a znode is watched.
type watchKind int

const (
	watchData watchKind = iota // its data and its end, or its birth
	watchChildren
)

type watchKey struct {
	path string // absolute
	kind watchKind
}

// ask is a read with a watch.
type ask struct {
	seat   *Seat
	epoch  *epoch
	key    watchKey
	read   func(c *link.Conn, watch bool) (answer func(), err error)
	refuse func(err error)
	birth  bool // a missing znode is watched too

	at       passage // over which it was lost
	answered bool    // of the actor alone, as all of the table
	void     bool    // its answer was lost: events held back for it are told by the read that follows
}

// watchTable is what the session watches in an epoch. It is the actor's own. ZooKeeper is asked for one watch for each path and kind, however many seats
// depend on it: the library can't take one back, so an armed one is kept until it fires.
//
//	     ask            answered
//	──────────▶ arming ─────────▶ armed ──▶ fired: everyone who asked is told, the entry is gone
//	               │  ▲            │  ▲
//	        lost,  │  │ asks wait  └──┘ ask: read without watch
//	  nothing there▼
//	              gone
type watchTable struct {
	entries map[watchKey]*watchEntry
	held    map[*Seat][]heldBack // by seats that have any
}

type watchEntry struct {
	arming  *ask   // the read that is to arm it; nil: armed
	fired   bool   // it fired before that was answered
	waiting []*ask // until it is
	subs    []*ask // whom to tell, one for each seat; also the one that arms
}

// heldBack is an event that came before the answer to the read that asked for it, or behind such an event: a seat hears events in ZooKeeper's order.
type heldBack struct {
	notice Fired
	until  []*ask // answered, or known to have no answer
	due    bool   // also if none of them is: another read of the seat's asked for it
}

// without takes reads off those that an event waits for, and tells whether nobody is left who asked for it.
func (h *heldBack) without(asks []*ask) bool {
	h.until = slices.DeleteFunc(h.until, func(a *ask) bool { return slices.Contains(asks, a) })
	return len(h.until) == 0 && !h.due
}

func newWatchTable() watchTable {
	return watchTable{entries: make(map[watchKey]*watchEntry), held: make(map[*Seat][]heldBack)}
}

// subscribe makes the ask the one by which its seat is told.
func (n *watchEntry) subscribe(a *ask) {
	n.subs = slices.DeleteFunc(n.subs, func(o *ask) bool { return o.seat == a.seat || o.seat.left() })
	n.subs = append(n.subs, a)
}

func (n *watchEntry) unsubscribe(a *ask) {
	n.subs = slices.DeleteFunc(n.subs, func(o *ask) bool { return o == a })
}

// fire takes the entry's event: everyone who asked is to be told. An entry that was not answered yet stays, so that those who wait for it know when.
func (t *watchTable) fire(key watchKey) []*ask {
	n := t.entries[key]
	if n == nil {
		return nil
	}
	if n.arming != nil {
		n.fired = true
		return []*ask{n.arming}
	}
	delete(t.entries, key)
	return n.subs
}

// keys are the watches that an event ends.
func firedKeys(ev link.Fired) []watchKey {
	data, children := watchKey{ev.Path, watchData}, watchKey{ev.Path, watchChildren}
	switch ev.Type {
	case NodeChildrenChanged:
		return []watchKey{children}
	case NodeDeleted:
		return []watchKey{data, children}
	}
	return []watchKey{data}
}

// pass tells an event to a seat, now or when what it waits for is answered.
func (t *watchTable) pass(seat *Seat, n Fired, asks []*ask) {
	all := len(asks)
	until := slices.DeleteFunc(asks, func(a *ask) bool { return a.answered })
	if len(until) == 0 && len(t.held[seat]) == 0 {
		seat.tell(n)
		return
	}
	// A read is followed by one event at most. If one was held back for it before, that stems from an older watch, and the read has seen what it is about.
	var held []heldBack
	for _, h := range t.held[seat] {
		if !h.without(until) {
			held = append(held, h)
		}
	}
	t.held[seat] = append(held, heldBack{n, until, len(until) < all})
}

// release tells a seat the events that nothing holds back any more.
func (t *watchTable) release(seat *Seat) {
	held := t.held[seat]
	for len(held) > 0 {
		first := held[0]
		if slices.ContainsFunc(first.until, func(a *ask) bool { return !a.answered && !a.void }) {
			break
		}
		held = held[1:]
		if first.due || slices.ContainsFunc(first.until, func(a *ask) bool { return a.answered }) {
			seat.tell(first.notice)
		}
	}
	if len(held) == 0 {
		delete(t.held, seat)
		return
	}
	t.held[seat] = held
}
