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
	timeout   int64 // for the votes, in milliseconds
	last      uint64
	txs       map[uint64]*tx
	suspended bool            // the connection is lost, so no transaction begins now
	newSites  *subscription   // of the parent of the sites' presences, once a presence was missing
	full      map[string]bool // the sites whose inboxes were full when this coordinator last saw them
}

// NewCoordinator returns a new machine. guid is its GUID; timeout is in milliseconds.
func NewCoordinator(root Root, guid string, timeout int64) *Coordinator {
	c := &Coordinator{timeout: timeout, txs: map[uint64]*tx{}, full: map[string]bool{}}
	c.participant = participant{role: c, zk: &dispatcher{}, root: root, path: root.coordinator(guid), guid: guid}
	return c
}

func (c *Coordinator) handle(ev machine.Event) {
	switch ev := ev.(type) {
	case machine.EpochBegan:
		c.suspended = false
	case machine.Suspended:
		c.suspended = true
	case machine.Resumed:
		c.suspended = false
		c.each((*tx).advance)
	case machine.Closing:
		c.each(func(t *tx) { t.giveUp("the coordinator closed") })
	case Request:
		c.start(ev)
	}
}

// start starts a request. If it is received again, the application may have given it up.
func (c *Coordinator) start(r Request) {
	if t := c.txs[r.N]; t != nil && r.Aborts {
		t.Withdrawn = r.Withdrawn
		t.giveUp(r.Reason)
	}
	if r.N <= c.last {
		return
	}
	t := &tx{Request: r, c: c, sent: r.Presence != 0}
	rec := Record{GUID: r.GUID, Sites: r.Sites, Coordinator: c.guid, Peers: r.Peers}
	t.view = view{zk: c.zk, side: t, root: c.root, id: r.ID, rec: rec}
	c.last, c.txs[r.N] = r.N, t
	if c.closing {
		t.giveUp("the coordinator closed")
	}
	t.advance()
}

func (c *Coordinator) needed() bool { return len(c.txs) > 0 }

func (c *Coordinator) reset() {
	c.newSites = nil
	c.each((*tx).reset)
}

func (c *Coordinator) registered() { c.each((*tx).advance) }

// each calls f with every transaction, the oldest first.
func (c *Coordinator) each(f func(t *tx)) {
	for _, n := range slices.Sorted(maps.Keys(c.txs)) {
		if t := c.txs[n]; t != nil {
			f(t)
		}
	}
}

// watchForSites watches for new sites, because a transaction waits for one that has no presence:
// the read of a missing znode sets no watch. If ZooKeeper refuses this, the vote timeout ends the
// wait.
func (c *Coordinator) watchForSites() {
	if c.newSites != nil {
		return
	}
	parent := c.root.below("alive")
	c.newSites = c.zk.follow(follower{path: parent, list: true, create: true}, func(error) {}, func(machine.Seen) {
		for _, path := range slices.Sorted(maps.Keys(c.zk.followers)) {
			if f := c.zk.followers[path]; strings.HasPrefix(path, parent+"/") && !f.last.Exists {
				f.read(true)
			}
		}
	})
}
