package protocol

import (
	"maps"
	"slices"

	"github.com/troupe-go/troupe/machine"
)

// Coordinator is the machine that begins transactions and decides them.
type Coordinator struct {
	participant
	guid      string
	timeout   int64 // for the votes, in milliseconds
	txs       map[uint64]*tx
	ended     map[uint64]bool // numbers of transactions that ended recently
	recent    []uint64        // the same numbers, oldest first
	sites     *presences
	arrivals  *arrivals
	probes    map[string][]func(bool, error)
	sweeper   *sweeper
	admission *admission
}

// NewCoordinator returns a new machine. guid is its GUID; timeout is in milliseconds.
func NewCoordinator(root Root, guid string, timeout int64) *Coordinator {
	d := newRequests()
	c := &Coordinator{
		participant: participant{requests: d, root: root}, guid: guid, timeout: timeout,
		txs: map[uint64]*tx{}, ended: map[uint64]bool{}, probes: map[string][]func(bool, error){}, sweeper: newSweeper(d, root),
	}
	c.admission = &admission{requests: d, root: root, limit: DefaultLimit, beginning: c.beginning, quotas: map[string]*quota{}}
	c.sites = newPresences(d, root.Alive, c.siteSeen)
	c.arrivals = &arrivals{requests: d, root: root, sites: c.sites}
	c.presence = &presence{
		requests: d, path: root.Coordinator(guid), guid: guid, ready: c.advance,
		duplicate: func() {}, // cannot happen: the GUID is unique
		fail:      c.stop,
	}
	return c
}

// Retain sets how many outcomes that the application has not acknowledged are kept, and for how
// many milliseconds.
func (c *Coordinator) Retain(most int, age int64) *Coordinator {
	c.sweeper.most, c.sweeper.age = most, age
	return c
}

// Limit sets the limit of entries in an inbox.
func (c *Coordinator) Limit(n int) *Coordinator {
	c.admission.limit = n
	return c
}

// Phase returns the state, for the live tree.
func (c *Coordinator) Phase() string {
	switch {
	case c.stopped:
		return "over"
	case c.closing:
		return "closing"
	case len(c.txs) == 0:
		return "idle"
	}
	return "coordinating"
}

// Step implements [machine.Machine].
func (c *Coordinator) Step(ev machine.Event) []machine.Effect {
	if c.stopped {
		return nil
	}
	switch ev := ev.(type) {
	case machine.EpochBegan:
		c.requests.begin(ev)
		c.reset()
		c.register()
		c.sweeper.resume()
	case machine.EpochEnded:
		c.requests.end()
		c.reset()
		c.closeIfIdle()
	case machine.Closing:
		c.close()
	default:
		if !c.request(ev) {
			c.requests.answer(ev)
		}
	}
	return c.requests.Flush()
}

// request handles the application's requests.
func (c *Coordinator) request(ev machine.Event) bool {
	switch ev := ev.(type) {
	case Begin:
		rec := Record{GUID: ev.GUID, Sites: ev.Sites, Coordinator: c.guid, Peers: ev.Peers}
		t := c.newTx(Beginning, ev.N, ev.ID, rec)
		t.payload, t.floor, t.sent = ev.Payload, ev.Floor, ev.Floor != 0
		c.start(t)
	case Recover:
		t := c.newTx(Recovering, ev.N, ev.ID, Record{})
		t.other, t.sent = ev.Coordinator, ev.Again && ev.ID != ""
		c.start(t)
	case Resume:
		t := c.newTx(Preparing, ev.N, ev.ID, Record{GUID: ev.GUID, Sites: ev.Sites})
		t.marked = true
		c.start(t)
	case AckOutcome:
		c.start(c.newTx(Acknowledging, ev.N, ev.ID, Record{
			GUID: ev.GUID, Sites: ev.Sites, Coordinator: ev.Shared.Last, Origin: ev.Shared.First, Others: ev.Shared.More,
			State: ev.Outcome, Reason: ev.Reason,
		}))
	case Release:
		c.sweeper.release(ev.GUID)
	case Keep:
		c.sweeper.keep(outcome{id: ev.ID, guid: ev.GUID, czxid: ev.Czxid})
	case Abort:
		if t := c.txs[ev.N]; t != nil {
			t.giveUp(ev.Reason)
		}
	default:
		return false
	}
	return true
}

func (c *Coordinator) newTx(phase Phase, n uint64, id string, rec Record) *tx {
	return &tx{view: view{requests: c.requests, root: c.root, id: id, rec: rec}, c: c, n: n, phase: phase}
}

// start starts a transaction, once.
func (c *Coordinator) start(t *tx) {
	if c.txs[t.n] != nil || c.ended[t.n] {
		return
	}
	c.txs[t.n] = t
	if c.closing {
		t.giveUp("the coordinator closed")
	}
	c.register()
	t.advance()
}

// register creates this coordinator's presence, as soon as it has a transaction.
func (c *Coordinator) register() {
	if c.requests.Epoch() != 0 && len(c.txs) > 0 && c.presence.state == absent {
		c.presence.create()
	}
}

// reset forgets the state of the epoch.
func (c *Coordinator) reset() {
	c.presence.reset()
	c.arrivals.watching = false
	c.sweeper.reset()
	c.admission.reset()
	clear(c.probes)
	c.sites.reset()
	for _, t := range c.txs {
		t.reset()
	}
}

// advance takes the next step of every transaction.
func (c *Coordinator) advance() {
	for _, t := range c.inOrder() {
		t.advance()
	}
}

func (c *Coordinator) inOrder() []*tx {
	return slices.SortedFunc(maps.Values(c.txs), func(a, b *tx) int { return int(a.n) - int(b.n) })
}

func (c *Coordinator) close() {
	c.closing = true
	for _, t := range c.inOrder() {
		t.giveUp("the coordinator closed")
		t.letGo()
	}
	c.closeIfIdle()
}

func (c *Coordinator) closeIfIdle() {
	if c.closing && len(c.txs) == 0 {
		c.windUp()
	}
}

// siteSeen handles a read of a site's presence. A site that was not there from the start may still
// come.
func (c *Coordinator) siteSeen(_ string, w *watched) {
	if w.died {
		w.tell()
	}
	if !w.present {
		c.arrivals.expect()
	}
}

// probe reports whether another coordinator is alive, or that it may not be asked. Concurrent calls
// share one answer.
func (c *Coordinator) probe(guid string, found func(alive bool, err error)) {
	c.probes[guid] = append(c.probes[guid], found)
	if len(c.probes[guid]) > 1 {
		return
	}
	c.requests.probe(c.root.Coordinator(guid), func(alive bool, err error) {
		all := c.probes[guid]
		delete(c.probes, guid)
		for _, f := range all {
			f(alive, err)
		}
	})
}

// has reports whether the application has a transaction of this coordinator.
func (c *Coordinator) has(guid string) bool {
	return c.sweeper.keeps(guid) || c.any(func(t *tx) bool { return t.rec.GUID == guid })
}

// recovers reports whether this coordinator is already taking the same transaction over.
func (c *Coordinator) recovers(t *tx) bool {
	return c.any(func(o *tx) bool { return o.id == t.id && o.phase == Recovering && o.n < t.n })
}

func (c *Coordinator) any(is func(t *tx) bool) bool {
	for _, t := range c.txs {
		if is(t) {
			return true
		}
	}
	return false
}

// beginning counts the transactions that were admitted to a site's inbox and may not be in it yet.
func (c *Coordinator) beginning(site string) int {
	n := 0
	for _, t := range c.txs {
		if t.phase == Beginning && t.admitted && slices.Contains(t.rec.Sites, site) {
			n++
		}
	}
	return n
}

// forget removes a transaction. Its number is remembered for a while, because the request may be
// received once more.
func (c *Coordinator) forget(n uint64) {
	delete(c.txs, n)
	c.ended[n] = true
	c.recent = append(c.recent, n)
	if len(c.recent) > remembered {
		delete(c.ended, c.recent[0])
		c.recent = c.recent[1:]
	}
	c.admission.prune()
	c.closeIfIdle()
}

// remembered is the number of remembered transactions. A request is received twice only within one
// turn of a mailbox.
const remembered = 1024
