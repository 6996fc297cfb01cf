package contend

import "github.com/troupe-go/troupe/machine"

// contenders is the strategy of a machine that is one of several contenders: it is its turn when
// the rule makes it wait for none of those ahead.
type contenders struct {
	m         *Machine
	cfg       Config
	semaphore *semaphore // nil: the rule is another
	listing   listing    // the last one, or the pending one
	patience  int64      // milliseconds of waiting before it looks ahead, if more than soonest
}

func (c *contenders) on(key request, ev machine.Event) {
	switch ev := ev.(type) {
	case machine.Listed:
		c.onListed(ev)
	case machine.Seen:
		c.onSeen(key, ev)
	case machine.Fired:
		c.onFired(ev)
	case machine.Suspended:
		// After a reconnection the server sends the events of the meantime watch by watch, not in
		// the order in which they happened: the predecessor's deletion may be told before that of
		// the own znode.
		c.listing.disconnected = true
	case machine.DowngradeWanted:
		c.onDowngradeWanted(ev)
	case machine.Downgraded:
		c.onDowngraded(ev)
	case machine.Transacted:
		if key.kind == marking {
			c.semaphore.onMarked(ev)
		} else {
			c.semaphore.onLimitWritten(ev)
		}
	case machine.Woke: // it has waited for a while
		if c.m.state == Waiting && c.listing.second != "" {
			c.listing.lookedAhead = true
			c.m.watch(c.listing.second)
		}
	}
}

// entering begins a listing: it is sent right behind the create.
func (c *contenders) entering(ask uint64) { c.listing = listing{ask: ask, early: true} }

// occupied is false: a znode of another client is no obstacle to a create.
func (*contenders) occupied(error) bool { return false }

func (c *contenders) entered() {
	if c.semaphore != nil {
		c.m.entry.mark.known, c.m.entry.mark.data = c.m.entry.unread, c.cfg.Data
	}
	c.m.state = Listing
	if early := c.listing.kept; early != nil {
		c.listing.kept = nil
		c.digest(*early)
	}
}

// confirm lists once more if the connection was lost: the own znode may have been deleted, and that
// event may be on its way.
func (c *contenders) confirm() {
	if c.listing.disconnected {
		c.m.ahead = c.m.ahead.doubted()
	}
	if !mayHold(c.m.ahead, c.m.proof()) {
		c.list()
		return
	}
	c.m.first()
}

// ended makes the next znode, in a transaction that deletes the one that was held.
func (c *contenders) ended() {
	c.m.replaced = c.m.entry
	c.m.dropOwn()
	c.m.enter()
}

func (*contenders) unwanted() {}

func (c *contenders) forget() {
	if c.m.state == Checking || c.m.state == Waiting {
		c.m.watches.unwatch(c.listing.pred)
		c.m.watches.unwatch(c.listing.second)
	}
	c.m.requests.Cancel(request{kind: waiting})
	c.listing = listing{disconnected: c.listing.disconnected} // a grant may be refused by the host, and tried again
	if c.semaphore != nil && c.m.requests.Epoch() == 0 {
		c.semaphore.limit = limit{}
	}
}

// advance goes on from Checking: to a grant if the machine may hold, or to waiting if it may wait
// and the predecessor is watched.
func (c *contenders) advance() {
	switch {
	case c.semaphore != nil:
		c.semaphore.decide()
	case mayHold(c.m.ahead, c.m.proof()):
		if c.listing.lookedAhead { // the second was watched, and a listing was needed all the same
			c.patience = min(2*max(c.patience, soonest), latest)
		}
		c.m.first()
	case mayWait(c.m.ahead, c.m.proof(), c.listing.listsBeforeGrant) && c.m.watches.armed(c.listing.pred):
		c.m.state = Waiting
		if c.listing.second != "" && !c.m.pending(waiting) {
			c.m.ask(machine.Wake{After: max(c.patience, soonest)}, waiting)
		}
	}
}

// Looking ahead is to watch the second: the contender that the predecessor waits for. When the
// second is deleted, the predecessor has its turn. While the predecessor holds, there is time for a
// listing that shows it alone ahead, so that none is needed after its deletion. soonest and latest
// bound the milliseconds of waiting after which the watch is worth a request. If the grant needed
// another listing all the same, nothing was gained, and the machine doubles its patience.
const soonest, latest = 20, 1280

func (c *contenders) isSecond(path string) bool {
	return (c.m.state == Checking || c.m.state == Waiting) && path == c.listing.second
}

func (c *contenders) isOwn(path string) bool { return placed(c.m.state) && path == c.m.entry.path }

func (c *contenders) isPred(path string) bool {
	return (c.m.state == Checking || c.m.state == Waiting) && path == c.listing.pred
}

// isLimit tells whether the path is that of a semaphore's limit.
func (c *contenders) isLimit(path string) bool { return c.semaphore != nil && path == c.cfg.Parent }

func (c *contenders) onSeen(key request, e machine.Seen) {
	switch key.kind {
	case ordering:
		c.onCzxid(key.of, e)
	case readingLimit:
		c.semaphore.onLimitSeen(e)
	case watching:
		c.onWatched(e)
	}
}

// onWatched takes the answer to a read with a watch.
func (c *contenders) onWatched(e machine.Seen) {
	stale := c.m.watches.answered(e) && e.Err == nil && e.Exists
	isOwn, isPred := c.isOwn(e.Path), c.isPred(e.Path)
	first := isOwn && c.m.entry.unread
	c.m.entry.unread = c.m.entry.unread && !isOwn
	switch {
	case stale && (isOwn || isPred):
		c.m.watch(e.Path) // the answer may be old, and the watch may have fired
		c.recheck()
	case isOwn:
		c.onOwnSeen(e, first)
	case isPred:
		c.onPredSeen(e)
	case c.isSecond(e.Path) && e.Err == nil && !e.Exists:
		c.list()
	case c.isLimit(e.Path) && stale:
		c.semaphore.onLimitChanged()
	case c.isLimit(e.Path):
		c.semaphore.onLimitSeen(e)
	}
}

// onOwnSeen takes the answer to a read of the own znode. It is ours only if it exists and this
// session owns it (B01, B12). first: it is the first answer since a reply told of the znode.
func (c *contenders) onOwnSeen(e machine.Seen, first bool) {
	switch {
	case e.Err != nil && c.m.state == Holding && first:
		c.m.unwatched(e.Err)
		return
	case e.Err != nil && c.m.state == Holding:
		c.pause()
		return
	case e.Err != nil:
		c.m.fail(e.Err)
		return
	case !e.Exists || e.Stat.Owner != c.m.session.id:
		c.m.ownGone()
		return
	case c.listing.failed != nil:
		c.m.fail(c.listing.failed)
		return
	}
	c.m.entry.saw(e)
	if c.semaphore != nil {
		c.semaphore.saw(e)
	}
	c.m.entry.tries = 0
	switch c.m.state {
	case Holding:
		c.m.entry.tellRevoked(&c.m.requests)
	case Ordering:
		c.order()
	case Checking:
		c.advance()
	}
}

// onPredSeen takes the answer to a read of the predecessor.
func (c *contenders) onPredSeen(e machine.Seen) {
	switch {
	case e.Err != nil:
		c.m.fail(e.Err)
	case !e.Exists:
		c.list()
	case e.SameSession:
		// The session tells its deletion, not the ordered stream of ZooKeeper's events: the own
		// znode may have been deleted before without being told yet.
		c.m.ahead, c.listing.second = some, ""
		c.advance()
	case c.semaphore != nil:
		c.semaphore.onPredSeen(e)
	default:
		c.advance()
	}
}

func (c *contenders) onFired(e machine.Fired) {
	if e.Change == machine.ChildrenChanged {
		if c.semaphore != nil {
			c.semaphore.onChildren()
		}
		return
	}
	isOwn, isPred := c.isOwn(e.Path), c.isPred(e.Path)
	if e.Change == machine.Held {
		if isPred {
			c.predHolds()
		}
		return
	}
	reading := c.m.watches.fired(e.Path)
	switch {
	case isOwn && e.Change == machine.Deleted:
		c.m.ownGone()
	case isPred && e.Change == machine.Deleted:
		c.predGone()
	case c.isSecond(e.Path) && e.Change == machine.Deleted && !reading:
		c.list()
	case isPred && e.Change == machine.HolderReleased && !reading && !c.listing.disconnected:
		c.predReleased()
	case (isOwn || isPred) && !reading:
		c.m.watch(e.Path)
		c.recheck()
	case c.isLimit(e.Path) && !reading:
		c.semaphore.onLimitChanged()
	}
}

// recheck goes back to Checking while a watch that the state depends on is set again.
func (c *contenders) recheck() {
	if c.m.state == Waiting || c.m.state == Ready {
		c.m.state = Checking
	}
}

// predGone handles the deletion of the predecessor's znode. It is our turn without another listing
// if the predecessor was the only one ahead and both znodes are watched, as in Waiting: the own
// watch, in the same ordered stream, would have fired before.
func (c *contenders) predGone() {
	if c.m.state != Waiting || c.listing.disconnected {
		c.m.ahead = c.m.ahead.doubted()
	}
	if c.m.ahead = c.m.ahead.gone(); !mayHold(c.m.ahead, c.m.proof()) {
		c.list()
		return
	}
	c.listing.pred, c.m.blockers, c.patience = "", 0, 0
	c.m.first()
}

// predHolds handles that the predecessor holds, which is of this session, or a contender of the
// session ahead of it. Now the own znode needs a watch, and there is time to set it.
func (c *contenders) predHolds() {
	c.listing.listsBeforeGrant = false
	if !c.m.watches.armed(c.m.entry.path) {
		c.recheck()
		c.m.watch(c.m.entry.path)
	}
}

// predReleased handles that the predecessor, of this session, has released what it held alone. So
// no contender is ahead, though the predecessor's znode may still exist. It is our turn as soon as
// the own znode is watched.
func (c *contenders) predReleased() {
	c.listing.pred, c.m.blockers = "", 0
	c.m.state, c.m.ahead = Checking, released
	c.watchOwn()
	c.advance()
}

func (c *contenders) watchOwn() {
	if !c.m.watches.armed(c.m.entry.path) {
		c.m.watch(c.m.entry.path)
	}
}

// pause reads the own znode again after a pause, because it could not be read while it is held. It
// exists as far as is known, so the possession goes on; but its deletion would not be noticed.
func (c *contenders) pause() {
	c.m.entry.tries++
	c.m.ask(machine.Wake{Try: c.m.entry.tries}, pausing)
}

// onDowngradeWanted downgrades the holder to a reader. The reader's znode replaces the writer's in
// one transaction, so that no other writer comes between. The writer's hold has ended before, so
// that no reader holds beside it.
func (c *contenders) onDowngradeWanted(e machine.DowngradeWanted) {
	if !c.m.holds(e.Claim) {
		return
	}
	c.m.state = Downgrading
	c.m.requests.Cancel(request{kind: pausing})
	c.m.requests.Emit(machine.Downgrade{Epoch: c.m.requests.Epoch(), Path: c.m.entry.path, Token: c.m.entry.czxid})
}

// onDowngraded goes on with the reader's znode, under the token of the writer's.
func (c *contenders) onDowngraded(e machine.Downgraded) {
	if c.m.state != Downgrading || e.Path != c.m.entry.path {
		return
	}
	wanted := c.m.possessed()
	switch {
	case e.Gone && wanted:
		c.m.ownGone()
	case e.Gone:
		c.m.requests.Emit(c.m.entry.whenGone...)
		c.m.enterAnew()
	case e.Err != nil:
		if wanted { // the writer's znode exists, and is not held any more
			c.m.entry.after(machine.Freed{Claim: c.m.entry.of})
			c.m.rotate()
		}
		c.m.leave()
	default:
		c.m.entry.at(e.New)
		c.m.entry.inherited, c.m.entry.unread = true, true
		c.m.entry.revoked, c.m.entry.told = false, false // the writer was asked to release, and did
		if !wanted {
			c.m.leave()
			return
		}
		c.m.watch(c.m.entry.path)
		c.m.grant()
	}
}
