package pact

import (
	"slices"

	"github.com/troupe-go/troupe/machine"
)

// Coordinator is the machine of one that begins transactions and decides them.
type Coordinator struct {
	desk     *desk
	root     Root
	guid     string
	timeout  int64 // milliseconds for the votes
	presence *presence
	txs      map[uint64]*tx
	done     map[uint64]bool // numbers that were over not long ago
	recent   []uint64        // the same, oldest first
	sites    map[string]*watched
	arrivals bool // the listing of presences is watched
	refusals int  // how many times in a row that was refused
	probes   map[string][]func(bool, error)
	sweeper  *sweeper
	limit    int // of the entries in an inbox
	rooms    map[string]*room
	closing  bool
	stopped  bool
	moved    func(from, to Phase) // for tests
}

// NewCoordinator makes one that has done nothing yet. guid is its own; timeout is in milliseconds.
func NewCoordinator(root Root, guid string, timeout int64) *Coordinator {
	c := &Coordinator{
		desk: newDesk(), root: root, guid: guid, timeout: timeout, txs: map[uint64]*tx{}, done: map[uint64]bool{},
		sites: map[string]*watched{}, probes: map[string][]func(bool, error){},
	}
	c.sweeper = newSweeper(c.desk, root)
	c.limit, c.rooms = DefaultLimit, map[string]*room{}
	c.presence = &presence{
		desk: c.desk, path: root.Coordinator(guid), guid: guid, stood: c.advance,
		taken: func() {}, // a GUID is nobody else's
		fail:  c.stop,
	}
	return c
}

// Retain sets how many outcomes are kept that the application has not acknowledged, and for how
// many milliseconds.
func (c *Coordinator) Retain(most int, age int64) *Coordinator {
	c.sweeper.most, c.sweeper.age = most, age
	return c
}

// Limit sets how many entries an inbox may have.
func (c *Coordinator) Limit(n int) *Coordinator {
	c.limit = n
	return c
}

// Phase is for the live tree.
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

// enter takes a transaction up, once.
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

// start shows that this coordinator lives, as soon as it has something to coordinate.
func (c *Coordinator) start() {
	if c.desk.epoch != 0 && len(c.txs) > 0 && !c.presence.begun {
		c.presence.begin()
	}
}

// reset forgets what belonged to the epoch.
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

// advance takes every transaction a step further.
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

// wound stops when it is closing and nothing is left to do: the presence goes first, so that nobody
// takes this coordinator for a live one.
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

// probe tells whether another coordinator lives, or that one may not ask; all that ask at the same
// time get one answer.
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

// follows tells whether a transaction is among those of this coordinator, which the application
// has.
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

// claims tells whether this coordinator was asked before to take the same transaction over, and is
// at it.
func (c *Coordinator) claims(t *tx) bool {
	for _, o := range c.txs {
		if o.id == t.id && o.phase == Claiming && o.n < t.n {
			return true
		}
	}
	return false
}

// forget lets a transaction go. Its number is remembered for a while: its wish may be told once
// more.
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

// remembered is how many: a wish is told twice only within one turn of a mailbox.
const remembered = 1024
