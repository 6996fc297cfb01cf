package contend

import (
	"cmp"
	"errors"
	"slices"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
)

// listing is one listing of the contenders, and what follows from it until the next one or the
// grant. It goes through these functions:
//
//	list, entering    ask
//	onListed, digest  list again, or the own znode is gone, or it is read after an error (verify), or
//	arrange           by number; or by Czxid (readOrder, onCzxid, order)
//	conclude          refuse a Try, or set the watches of the wait; semaphores: decide
//	advance           to Ready or Waiting; called again after answers and events
//
// The fields of a stage are zero before it; but list sets watched, and keeps lookedAhead.
type listing struct {
	// Asked: Entering or Listing.
	ask          uint64          // number of the request
	early        bool            // sent with the create: the answer may be older than the znode
	kept         *machine.Listed // the early answer, if it came before the reply to the create, until that comes
	failed       error           // the answer, in place of all below; the own znode is being read to see whether it exists
	disconnected bool            // the connection was lost since the request; forget keeps it

	// Ordering: by Czxid.
	unordered []ordered // the contenders whose Czxids are being read
	missed    bool      // one of them was deleted before it was read; kept from here on

	// Concluded: Checking, Waiting or Ready. Without a predecessor, pred and second are "".
	pred             string // path of the predecessor
	listsBeforeGrant bool   // the end of the predecessor leads to another listing: the own znode need not be watched
	second           string // path of the contender that the predecessor waits for, if that is worth a watch: see soonest
	lookedAhead      bool   // the second was watched

	// Of a semaphore alone.
	self     znode.Contender   // its name is "" until the order is known
	front    []znode.Contender // the contenders ahead of it
	predSeen bool              // the data of the predecessor were read since this listing
	watched  bool              // the listing set a watch on the children
	stale    bool              // that watch fired before the order was known
}

// list lists the contenders again.
func (c *contenders) list() {
	c.m.state, c.m.ahead = Listing, unknown
	c.m.requests.Cancel(request{kind: waiting})
	c.listing = listing{watched: c.m.entry.mark.head, lookedAhead: c.listing.lookedAhead}
	c.listing.ask = c.m.ask(machine.List{Path: c.cfg.Parent, Watch: c.listing.watched}, readingNames)
}

func (c *contenders) onListed(e machine.Listed) {
	switch c.m.state {
	case Entering:
		c.listing.kept = new(e)
	case Listing:
		c.digest(e)
	}
}

// digest handles a listing. The path of the own znode is known. An early answer without the own
// znode proves nothing. Any other such answer is final, even a stale one.
func (c *contenders) digest(e machine.Listed) {
	missing := e.Err == nil && !slices.Contains(e.Names, c.m.entry.name)
	switch {
	case c.listing.early && (missing || e.Err != nil):
		c.list() // it may be older than the znode, or than its parent
	case missing:
		// The session may not know that the znode is gone, if the znode's watch has fired for a
		// change. Remove makes it find out, and tell the contenders that follow the znode. A name
		// without a GUID is never followed, and may be another client's, below a new parent.
		if own, _ := znode.ParseContender(c.m.entry.name); own.GUID != "" {
			c.m.requests.Emit(machine.Remove{Epoch: c.m.requests.Epoch(), Path: c.m.entry.path})
		}
		c.m.ownGone()
	case c.listing.stale:
		c.list()
	case e.Err != nil:
		c.verify(e.Err)
	default:
		c.arrange(e)
	}
}

// verify reads the own znode, because the listing failed.
func (c *contenders) verify(err error) {
	c.m.state = Checking
	c.listing.failed = err
	c.m.rewatch(c.m.entry.path)
}

// conclude goes on with the contenders ahead of the own znode, first to last. It refuses a Try that
// would have to wait, or lists again if the Try is newer than the listing. Otherwise it records the
// predecessor, sets the watches, and advances, perhaps to a grant.
func (c *contenders) conclude(self znode.Contender, ahead []znode.Contender) {
	if c.semaphore != nil {
		c.semaphore.conclude(self, ahead)
		return
	}
	blockers := c.cfg.Rule.Before(self, ahead)
	c.m.blockers = len(blockers)
	c.m.state, c.m.ahead = Checking, none
	if len(blockers) > 0 && c.m.claims[0].try {
		if c.m.claims[0].newerThan(c.listing.ask) {
			c.list() // the contenders may be gone since
			return
		}
		if c.m.refuse(machine.ErrHeld); c.m.state == Leaving {
			return
		}
	}
	if len(blockers) > 0 {
		last := blockers[len(blockers)-1]
		c.listing.pred = znode.Join(c.cfg.Parent, last.Name)
		// If the name has no GUID, an event of a watch that was set before this listing might be
		// about an earlier znode of that name. And a contender that was missed may have been a
		// writer that was downgraded: then the listing did not show the reader.
		unique := last.GUID != "" || c.m.watches.of(c.listing.pred) == nil
		leaves := c.cfg.Rule.LeavesAnother(self, last)
		if c.m.ahead = only; len(blockers) > 1 || c.listing.missed || leaves || !unique {
			c.m.ahead = some
		}
		if n := len(blockers); n > 1 && last.GUID != "" && self.Kind != znode.Read && !leaves {
			c.listing.second = znode.Join(c.cfg.Parent, blockers[n-2].Name)
		}
	}
	c.listing.listsBeforeGrant = c.m.ahead == some && self.GUID != ""
	if !mayHold(c.m.ahead, c.m.proof()) && !mayWait(c.m.ahead, c.m.proof(), c.listing.listsBeforeGrant) {
		c.watchOwn()
	}
	if n := len(blockers); n > 0 && !c.m.watches.watched(c.listing.pred) {
		c.m.watches.read(machine.Read{Path: c.listing.pred, Watch: true, SameSession: c.sameSession(self, blockers[n-1])})
	}
	c.advance()
}

// sameSession tells whether the predecessor may be followed in the session. If so, the predecessor
// would hold alone, and the own znode waits for every contender that the predecessor waits for. A
// reader does not: it could hold beside readers that the writer ahead of it waits for, and would
// learn of that writer's end too late from the session.
func (c *contenders) sameSession(self, last znode.Contender) bool {
	alone := last.Kind == znode.Lock || last.Kind == znode.Write || last.Kind == znode.Candidate
	return alone && self.Kind != znode.Read && last.GUID != "" && c.m.delay == nil
}

var errName = errors.New("the own znode's name is not a contender's")

// ordered is a contender whose Czxid is being read.
type ordered struct {
	znode.Contender
	czxid int64 // 0: not answered yet
}

// arrange finds the contenders ahead of the own znode, by their sequence numbers. If the numbers
// leave the order open, it reads the Czxids.
func (c *contenders) arrange(e machine.Listed) {
	l, made := e.Contenders.(*znode.Contenders)
	if !made {
		l = znode.NewContenders(e.Names)
	}
	i := slices.IndexFunc(l.Contenders, func(o znode.Contender) bool { return o.Name == c.m.entry.name })
	switch {
	case i < 0:
		c.m.fail(errName)
	case l.Ambiguous && len(l.Contenders) > 1:
		c.readOrder(slices.Delete(slices.Clone(l.Contenders), i, i+1))
	default:
		c.conclude(l.Contenders[i], l.Contenders[:i:i])
	}
}

// readOrder reads the Czxids of all others.
func (c *contenders) readOrder(others []znode.Contender) {
	c.m.state = Ordering
	c.listing.unordered = make([]ordered, len(others))
	for i, o := range others {
		c.listing.unordered[i] = ordered{Contender: o}
		c.m.requests.Ask(machine.Read{Path: znode.Join(c.cfg.Parent, o.Name)}, request{ordering, o.Name})
	}
	if c.m.entry.czxid == 0 {
		c.m.watch(c.m.entry.path)
	}
}

// onCzxid takes the answer to a read of readOrder.
func (c *contenders) onCzxid(name string, e machine.Seen) {
	i := slices.IndexFunc(c.listing.unordered, func(o ordered) bool { return o.Name == name })
	switch {
	case i < 0: // of an earlier listing
		return
	case e.Err != nil:
		c.m.fail(e.Err)
		return
	case e.Exists:
		o := &c.listing.unordered[i]
		o.czxid = positionOf(*o, e)
	default:
		c.listing.unordered, c.listing.missed = slices.Delete(c.listing.unordered, i, i+1), true
	}
	c.order()
}

// positionOf is the Czxid that determines the position of a contender. A reader that replaced a
// writer has the writer's in its data.
func positionOf(o ordered, e machine.Seen) int64 {
	if notes, _ := znode.ParseNotes(e.Data); notes.Placed > 0 && o.Kind == znode.Read {
		return notes.Placed
	}
	return e.Stat.Czxid
}

// order goes on when every Czxid is known.
func (c *contenders) order() {
	if c.m.entry.czxid == 0 || slices.ContainsFunc(c.listing.unordered, func(o ordered) bool { return o.czxid == 0 }) {
		return
	}
	others := c.listing.unordered
	c.listing.unordered = nil
	slices.SortFunc(others, func(a, b ordered) int { return cmp.Compare(a.czxid, b.czxid) })
	var ahead []znode.Contender
	for _, o := range others {
		if o.czxid < c.m.entry.czxid {
			ahead = append(ahead, o.Contender)
		}
	}
	self, _ := znode.ParseContender(c.m.entry.name)
	if c.listing.missed && c.semaphore == nil && len(c.cfg.Rule.Before(self, ahead)) == 0 {
		c.list() // the missed one may have been deleted after the own znode: only a listing shows both
		return
	}
	c.conclude(self, ahead)
}
