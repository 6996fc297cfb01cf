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
	lost     losses
	answered bool // of the actor alone, as all that follows and all of the table
	void     bool // its answer was lost: events held back for it are told by the read that follows
	forgone  bool // its seat wants no event of it any more

	before, after *ask // the other subscriptions of its seat
}

// watchTable is what the session watches in an epoch. It is the actor's own. ZooKeeper is asked for
// one watch for each path and kind, however many seats depend on it. When none does any more it is
// given back: see [steward.giveBack].
//
//	     ask            answered                 nobody depends on it      sent            answered
//	──────────▶ arming ─────────▶ armed ────────────────────────────▶ due ─────▶ removing ─────────▶ gone
//	               │  ▲            │  ▲  ◀─────────────────────────────│             │
//	        lost,  │  │ asks wait  └──┘ ask: read without watch   ask           asks wait
//	  nothing there▼                  │
//	              gone                └─▶ fired: everyone who asked is told, the entry is gone
type watchTable struct {
	entries map[watchKey]*watchEntry
	seats   map[*Seat]*ask       // the subscriptions of each, linked
	held    map[*Seat][]heldBack // by seats that have any
	due     []watchKey           // to be given back; also of entries that are not any more
	giving  bool                 // a removal is under way
	keeping bool                 // the servers lack it
}

type watchEntry struct {
	arming  *ask // the read that is to arm it; nil: armed
	need    need
	fired   bool   // it fired before the read or the removal was answered
	waiting []*ask // until it is
	subs    []*ask // whom to tell, one for each seat; also the one that arms
}

// need says whether an armed watch is needed, and if not, how far it is given back.
type need uint8

const (
	needed   need = iota
	due           // to be asked for
	removing      // asked for
)

// heldBack is an event that came before the answer to the read that asked for it, or behind such an
// event: a seat hears events in ZooKeeper's order.
type heldBack struct {
	notice Fired
	until  []*ask // answered, or known to have no answer
	due    bool   // also if none of them is: another read of the seat's asked for it
}

// without takes reads off those that an event waits for, and tells whether nobody is left who asked
// for it.
func (h *heldBack) without(asks []*ask) bool {
	h.until = slices.DeleteFunc(h.until, func(a *ask) bool { return slices.Contains(asks, a) })
	return len(h.until) == 0 && !h.due
}

func newWatchTable() watchTable {
	return watchTable{entries: make(map[watchKey]*watchEntry), seats: make(map[*Seat]*ask), held: make(map[*Seat][]heldBack)}
}

// subscribe makes the ask the one by which its seat is told.
func (t *watchTable) subscribe(n *watchEntry, a *ask) {
	if a.forgone || a.seat.left() {
		return
	}
	if i := slices.IndexFunc(n.subs, func(o *ask) bool { return o.seat == a.seat }); i >= 0 {
		t.unlink(n.subs[i])
		n.subs[i] = a
	} else {
		n.subs = append(n.subs, a)
	}
	if a.after = t.seats[a.seat]; a.after != nil {
		a.after.before = a
	}
	t.seats[a.seat] = a
}

func (t *watchTable) unsubscribe(n *watchEntry, a *ask) {
	if t.seats[a.seat] != a && a.before == nil {
		return // it is none
	}
	t.unlink(a)
	if i := slices.Index(n.subs, a); i >= 0 {
		n.subs = slices.Delete(n.subs, i, i+1)
	}
}

// unlink takes a subscription out of those of its seat.
func (t *watchTable) unlink(a *ask) {
	if a.after != nil {
		a.after.before = a.before
	}
	switch {
	case a.before != nil:
		a.before.after = a.after
	case a.after != nil:
		t.seats[a.seat] = a.after
	default:
		delete(t.seats, a.seat)
	}
	a.before, a.after = nil, nil
}

// fire takes the entry's event: everyone who asked is to be told. An entry that was not answered
// yet stays, so that those who wait for it know when.
func (t *watchTable) fire(key watchKey) []*ask {
	n := t.entries[key]
	switch {
	case n == nil:
		return nil
	case n.arming != nil:
		n.fired = true
		return []*ask{n.arming}
	case n.need == removing:
		n.fired = true
		return nil
	}
	delete(t.entries, key)
	for _, a := range n.subs {
		t.unlink(a)
	}
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
	// A read is followed by one event at most. If one was held back for it before, that stems from
	// an older watch, and the read has seen what it is about.
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
