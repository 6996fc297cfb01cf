package protocol

import (
	"maps"
	"slices"
	"strings"

	"github.com/troupe-go/troupe/machine"
)

// Coordinator is the machine that begins transactions and decides them.
type Coordinator struct {
	participant
	guid     string
	timeout  int64 // for the votes, in milliseconds
	last     uint64
	txs      map[uint64]*tx
	mute     bool            // the connection is lost, so that nothing begins
	arrivals *following      // of the presences of the sites, once one was missing
	full     map[string]bool // the sites whose inboxes were at their limit when they were last seen
}

// NewCoordinator returns a new machine. guid is its GUID; timeout is in milliseconds.
func NewCoordinator(root Root, guid string, timeout int64) *Coordinator {
	r := &requests{}
	c := &Coordinator{
		participant: participant{requests: r, root: root}, guid: guid, timeout: timeout, txs: map[uint64]*tx{}, full: map[string]bool{},
	}
	c.presence = &presence{
		requests: r, path: root.coordinator(guid), guid: guid, ready: c.advance,
		duplicate: func() {}, // cannot happen: the GUID is unique
		fail:      c.stop,
	}
	return c
}

// Step implements [machine.Machine].
func (c *Coordinator) Step(ev machine.Event) []machine.Effect {
	if c.stopped {
		return nil
	}
	switch ev := ev.(type) {
	case machine.EpochBegan:
		c.requests.begin(ev)
		c.mute = false
		c.reset()
		c.register()
	case machine.Suspended:
		c.mute = true
	case machine.Resumed:
		c.mute = false
		c.advance()
	case machine.EpochEnded:
		c.requests.end()
		c.reset()
	case machine.Closing:
		c.closing = true
		c.each(func(t *tx) { t.giveUp("the coordinator closed") })
	case Begin:
		t := c.newTx(beginning, ev.N, ev.ID, Record{GUID: ev.GUID, Sites: ev.Sites, Coordinator: c.guid, Peers: ev.Peers})
		t.request, t.sent = ev, ev.Presence
		c.start(t)
	case Recover:
		t := c.newTx(recovering, ev.N, ev.ID, Record{})
		t.other = ev.Coordinator
		c.start(t)
	case Resume:
		t := c.newTx(preparing, ev.N, ev.ID, Record{GUID: ev.GUID, Sites: ev.Sites})
		if ev.Acked {
			t.stage = acknowledging
		}
		c.start(t)
	case Abort:
		if t := c.txs[ev.N]; t != nil {
			t.withdrawn = ev.Withdrawn
			t.giveUp(ev.Reason)
		}
	default:
		c.requests.answer(ev)
	}
	if c.closing && len(c.txs) == 0 {
		c.windUp()
	}
	return c.requests.Flush()
}

func (c *Coordinator) newTx(stage stage, n uint64, id string, rec Record) *tx {
	return &tx{view: view{requests: c.requests, root: c.root, id: id, rec: rec}, c: c, n: n, stage: stage}
}

// start starts a transaction, unless the request is received once more.
func (c *Coordinator) start(t *tx) {
	if t.n <= c.last {
		return
	}
	c.last = t.n
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
	c.arrivals = nil
	c.each((*tx).reset)
}

// advance takes the next step of every transaction.
func (c *Coordinator) advance() { c.each((*tx).advance) }

// each calls f with every transaction, the oldest first.
func (c *Coordinator) each(f func(t *tx)) {
	for _, n := range slices.Sorted(maps.Keys(c.txs)) {
		if t := c.txs[n]; t != nil {
			f(t)
		}
	}
}

// expect watches for sites to start, since one is missing that a transaction waits for: a read of
// what does not exist sets no watch. If that is refused, the time for the votes ends what waits.
func (c *Coordinator) expect() {
	if c.arrivals != nil {
		return
	}
	parent := c.root.below("alive")
	c.arrivals = c.requests.follow(follower{path: parent, list: true}, func(error) {}, func(ev machine.Seen) {
		if !ev.Exists {
			c.requests.ensure(parent, func(err error) {
				if err == nil {
					c.arrivals.look()
				}
			})
			return
		}
		for _, path := range slices.Sorted(maps.Keys(c.requests.followers)) {
			if f := c.requests.followers[path]; strings.HasPrefix(path, parent+"/") && !f.last.Exists {
				f.read(true)
			}
		}
	})
}
