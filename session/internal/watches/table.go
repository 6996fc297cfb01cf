package watches

import "slices"

// Table has the watches of a session in an epoch. Clients hear of an event once, in ZooKeeper's
// order, and never before the answer to the read that asked for it.
type Table struct {
	server   Server
	entries  map[Key]*entry
	clients  map[Client]*Read      // the subscriptions of each, linked
	held     map[Client][]heldBack // of clients that have any
	due      []Key                 // to be given back; also of entries that are not any more
	removing bool                  // a removal is under way
	keeping  bool                  // the servers can't remove watches
}

type entry struct {
	arming  *Read   // the read that is to arm it; nil: armed
	need    need    // of an armed one
	fired   bool    // it fired before the read that arms it, or the removal, was answered
	waiting []*Read // until that is answered
	subs    []*Read // the reads to tell, one for each client; also the one that arms
}

// need says whether an armed watch is needed, and if not, how far it is given back.
type need uint8

const (
	needed   need = iota
	due           // to be asked for
	removing      // asked for
)

// heldBack is an event that came before the answer to the read that asked for it, or behind such an
// event: a client hears events in ZooKeeper's order.
type heldBack struct {
	event Event
	until []*Read // answered, or known to have no answer
	due   bool    // also if none of them is: another read of the client's asked for it
}

// without takes reads off the ones that an event waits for, and tells whether no read is left that
// asked for it.
func (h *heldBack) without(reads []*Read) bool {
	h.until = slices.DeleteFunc(h.until, func(r *Read) bool { return slices.Contains(reads, r) })
	return len(h.until) == 0 && !h.due
}

// New makes an empty table.
func New(server Server) *Table {
	return &Table{server: server, entries: make(map[Key]*entry), clients: make(map[Client]*Read), held: make(map[Client][]heldBack)}
}

// Len is how many watches ZooKeeper is believed to have.
func (t *Table) Len() int { return len(t.entries) }

// Ask takes a read with a watch. It is sent with the watch if there is none yet, without if there
// is one, and later if one is being armed or removed. Whether the answer to a read without a watch
// is followed by the event is decided by the entry that it found: that was there before the read
// was sent.
func (t *Table) Ask(r *Read) {
	n := t.entries[r.Key]
	switch {
	case r.forgone || r.Client.Left():
		r.Request.Send(r, false) // it has its answer, and no event
	case n == nil:
		t.entries[r.Key] = &entry{arming: r}
		r.Request.Send(r, true)
	case n.arming != nil || n.need == removing:
		n.waiting = append(n.waiting, r)
	default:
		n.need = needed
		t.subscribe(n, r)
		r.Request.Send(r, false)
	}
}

// Done takes the outcome of a read: answer passes it on, and is nil if the answer was lost. armed:
// the znode exists, so that there is something to watch.
func (t *Table) Done(r *Read, answer func(), armed bool) {
	n := t.entries[r.Key]
	arming := n != nil && n.arming == r
	var waiting []*Read
	switch {
	case arming && armed && !n.fired: // it is armed from now on
		n.arming, waiting, n.waiting = nil, n.waiting, nil
		t.subscribe(n, r)
	case arming && armed && t.server.Watched(r.Key): // it is too: the event was of an older watch of the znode's other kind, and r was told of it
		n.arming, n.fired, waiting, n.waiting = nil, false, n.waiting, nil
	case arming: // it has fired, or there was nothing to watch, or the answer was lost
		waiting = n.waiting
		delete(t.entries, r.Key)
	case n != nil && !armed: // r was sent without a watch, and found nothing
		t.unsubscribe(n, r)
	}
	switch {
	case answer == nil:
		r.void = true
		if r.Request.Pending() { // it is asked again, by a new Read: what was held back for this one is not for that
			t.Ask(&Read{Client: r.Client, Key: r.Key, Request: r.Request, forgone: r.forgone})
		}
	case armed:
		answer()
		r.answered, r.Request = true, nil // from here on it only says which client to tell
	default:
		answer()
		r.void = true // there is nothing to watch, so there are no events
	}
	t.release(r.Client)
	for _, o := range waiting {
		t.Ask(o)
	}
	t.spare(r.Key)
}

// Fire takes an event: every client that asked for it is told.
func (t *Table) Fire(e Event) {
	var clients []Client
	reads := make(map[Client][]*Read)
	for _, key := range e.keys() {
		for _, r := range t.fire(key) {
			if reads[r.Client] == nil {
				clients = append(clients, r.Client)
			}
			reads[r.Client] = append(reads[r.Client], r)
		}
	}
	for _, c := range clients {
		t.pass(c, e, reads[c])
	}
}

// fire takes an entry's event and returns the reads to tell. An entry that was not answered yet
// stays, so that the reads that wait for it know when it is.
func (t *Table) fire(key Key) []*Read {
	n := t.entries[key]
	switch {
	case n == nil:
		return nil
	case n.arming != nil:
		n.fired = true
		return []*Read{n.arming}
	case n.need == removing:
		n.fired = true
		return nil
	}
	delete(t.entries, key)
	for _, r := range n.subs {
		t.unlink(r)
	}
	return n.subs
}

// pass tells a client of an event, now or when the reads that it waits for are answered.
func (t *Table) pass(c Client, e Event, reads []*Read) {
	all := len(reads)
	until := slices.DeleteFunc(reads, func(r *Read) bool { return r.answered })
	if len(until) == 0 && len(t.held[c]) == 0 {
		t.server.Tell(c, e)
		return
	}
	// A read is followed by one event at most. If one was held back for it before, that stems from
	// an older watch, and the read has seen the change.
	var held []heldBack
	for _, h := range t.held[c] {
		if !h.without(until) {
			held = append(held, h)
		}
	}
	t.held[c] = append(held, heldBack{e, until, len(until) < all})
}

// release tells a client the events that no read holds back any more.
func (t *Table) release(c Client) {
	held := t.held[c]
	for len(held) > 0 {
		first := held[0]
		if slices.ContainsFunc(first.until, func(r *Read) bool { return !r.answered && !r.void }) {
			break
		}
		held = held[1:]
		if first.due || slices.ContainsFunc(first.until, func(r *Read) bool { return r.answered }) {
			t.server.Tell(c, first.event)
		}
	}
	if len(held) == 0 {
		delete(t.held, c)
		return
	}
	t.held[c] = held
}

// subscribe makes the read the one by which its client is told.
func (t *Table) subscribe(n *entry, r *Read) {
	if r.forgone || r.Client.Left() {
		return
	}
	if i := slices.IndexFunc(n.subs, func(o *Read) bool { return o.Client == r.Client }); i >= 0 {
		t.unlink(n.subs[i])
		n.subs[i] = r
	} else {
		n.subs = append(n.subs, r)
	}
	if r.after = t.clients[r.Client]; r.after != nil {
		r.after.before = r
	}
	t.clients[r.Client] = r
}

func (t *Table) unsubscribe(n *entry, r *Read) {
	if t.clients[r.Client] != r && r.before == nil {
		return // it is none
	}
	t.unlink(r)
	if i := slices.Index(n.subs, r); i >= 0 {
		n.subs = slices.Delete(n.subs, i, i+1)
	}
}

// unlink takes a subscription out of those of its client.
func (t *Table) unlink(r *Read) {
	if r.after != nil {
		r.after.before = r.before
	}
	switch {
	case r.before != nil:
		r.before.after = r.after
	case r.after != nil:
		t.clients[r.Client] = r.after
	default:
		delete(t.clients, r.Client)
	}
	r.before, r.after = nil, nil
}
