package pact

import (
	"slices"

	"github.com/troupe-go/troupe/machine"
)

// Coordinator is the machine that begins transactions and decides them.
type Coordinator struct {
	desk     *desk
	root     Root
	guid     string
	timeout  int64 // for the votes, in milliseconds
	presence *presence
	txs      map[uint64]*tx
	done     map[uint64]bool // numbers of transactions that ended recently
	recent   []uint64        // the same numbers, oldest first
	sites    map[string]*watched
	arrivals bool // the presences are listed with a watch
	refusals int  // number of refused listings in a row
	probes   map[string][]func(bool, error)
	sweeper  *sweeper
	limit    int // of entries in an inbox
	rooms    map[string]*room
	closing  bool
	stopped  bool
	moved    func(from, to Phase) // for tests
}

// NewCoordinator returns a new machine. guid is its GUID; timeout is in milliseconds.
func NewCoordinator(root Root, guid string, timeout int64) *Coordinator {
	c := &Coordinator{
		desk: newDesk(), root: root, guid: guid, timeout: timeout, txs: map[uint64]*tx{}, done: map[uint64]bool{},
		sites: map[string]*watched{}, probes: map[string][]func(bool, error){},
	}
	c.sweeper = newSweeper(c.desk, root)
	c.limit, c.rooms = DefaultLimit, map[string]*room{}
	c.presence = &presence{
		desk: c.desk, path: root.Coordinator(guid), guid: guid, stood: c.advance,
		taken: func() {}, // cannot happen: the GUID is unique
		fail:  c.stop,
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
	c.limit = n
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
		c.desk.begin(ev)
		c.reset()
		c.start()
		c.sweeper.resume()
	case machine.EpochEnded:
		c.desk.end()
		c.reset()
		c.wound()
	case Begin:
		c.enter(&tx{n: ev.N, id: ev.ID, guid: ev.GUID, payload: ev.Payload, sites: ev.Sites, peers: ev.Peers, floor: ev.Floor, sent: ev.Floor != 0, phase: Beginning})
	case Adopt:
		c.enter(&tx{n: ev.N, id: ev.ID, other: ev.Coordinator, sent: ev.Again && ev.ID != "", phase: Claiming})
	case Resume:
		c.enter(&tx{n: ev.N, id: ev.ID, guid: ev.GUID, sites: ev.Sites, marked: true, phase: Open})
	case Settle:
		t := &tx{n: ev.N, id: ev.ID, guid: ev.GUID, sites: ev.Sites, shared: ev.Shared, phase: Settling}
		t.rec = Record{GUID: ev.GUID, Sites: ev.Sites, Coordinator: ev.Shared.Last, Origin: ev.Shared.First, Others: ev.Shared.More, State: ev.Outcome, Reason: ev.Reason}
		c.enter(t)
	case Forget:
		c.sweeper.release(ev.GUID)
	case Keep:
		c.sweeper.keep(outcome{id: ev.ID, guid: ev.GUID, czxid: ev.Czxid})
	case Abort:
		if t := c.txs[ev.N]; t != nil {
			t.giveUp(ev.Reason)
		}
	case machine.Closing:
		c.close()
	default:
		c.desk.answer(ev)
	}
	return c.desk.flush()
}

// enter starts a transaction, once.
func (c *Coordinator) enter(t *tx) {
	if c.txs[t.n] != nil || c.done[t.n] {
		return
	}
	t.c = c
	c.txs[t.n] = t
	if c.closing {
		t.giveUp("the coordinator closed")
	}
	c.start()
	t.advance()
}

// start creates this coordinator's presence, as soon as it has a transaction.
func (c *Coordinator) start() {
	if c.desk.epoch != 0 && len(c.txs) > 0 && !c.presence.begun {
		c.presence.begin()
	}
}

// reset forgets the state of the epoch.
func (c *Coordinator) reset() {
	c.presence.reset()
	c.arrivals = false
	c.sweeper.reset()
	for _, r := range c.rooms {
		r.looking, r.waiting = false, nil
	}
	clear(c.probes)
	for _, w := range c.sites {
		w.follower = nil
	}
	for _, t := range c.txs {
		t.reset()
	}
}

// advance takes the next step of every transaction.
func (c *Coordinator) advance() {
	for _, n := range c.numbers() {
		if t := c.txs[n]; t != nil {
			t.advance()
		}
	}
}

func (c *Coordinator) numbers() []uint64 {
	all := make([]uint64, 0, len(c.txs))
	for n := range c.txs {
		all = append(all, n)
	}
	slices.Sort(all)
	return all
}

func (c *Coordinator) close() {
	c.closing = true
	for _, n := range c.numbers() {
		c.txs[n].giveUp("the coordinator closed")
		if t := c.txs[n]; t != nil {
			t.letGo()
		}
	}
	c.wound()
}

// wound stops the machine when it is closing and nothing is left to do. The presence is deleted
// first, so that no process takes this coordinator for a live one.
func (c *Coordinator) wound() {
	switch {
	case !c.closing || c.stopped || len(c.txs) > 0:
	case c.desk.epoch == 0 || !c.presence.begun:
		c.stop(nil)
	case !c.presence.leaving:
		c.presence.leave(func() { c.stop(nil) })
	}
}

func (c *Coordinator) stop(err error) {
	if !c.stopped {
		c.stopped = true
		c.desk.do(machine.Stop{Err: err})
	}
}

// probe reports whether another coordinator is alive, or that it may not be asked. Concurrent calls
// share one answer.
func (c *Coordinator) probe(guid string, found func(alive bool, err error)) {
	c.probes[guid] = append(c.probes[guid], found)
	if len(c.probes[guid]) > 1 {
		return
	}
	c.desk.probe(c.root.Coordinator(guid), func(alive bool, err error) {
		all := c.probes[guid]
		delete(c.probes, guid)
		for _, f := range all {
			f(alive, err)
		}
	})
}

// follows reports whether the application has a transaction of this coordinator.
func (c *Coordinator) follows(guid string) bool {
	if c.sweeper.keeps(guid) {
		return true
	}
	for _, t := range c.txs {
		if t.guid == guid {
			return true
		}
	}
	return false
}

// claims reports whether this coordinator is already taking the same transaction over.
func (c *Coordinator) claims(t *tx) bool {
	for _, o := range c.txs {
		if o.id == t.id && o.phase == Claiming && o.n < t.n {
			return true
		}
	}
	return false
}

// forget removes a transaction. Its number is remembered for a while, because the intent may be
// received once more.
func (c *Coordinator) forget(n uint64) {
	delete(c.txs, n)
	c.done[n] = true
	c.recent = append(c.recent, n)
	if len(c.recent) > remembered {
		delete(c.done, c.recent[0])
		c.recent = c.recent[1:]
	}
	c.vacate()
	c.wound()
}

// remembered is the number of remembered transactions. An intent is received twice only within one
// turn of a mailbox.
const remembered = 1024
