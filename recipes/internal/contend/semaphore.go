package contend

import (
	"fmt"
	"strconv"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
)

// semaphore is the part of contenders that is for permits: they compare with a limit, and mark
// their znodes when they hold.
type semaphore struct {
	m       *Machine
	c       *contenders
	permits *Permits
	limit   limit
}

// mark is what is known of the mark on the own znode, which says that it holds.
type mark struct {
	known   bool   // version and data are as read or created
	version int32  // of the znode
	data    []byte // of the znode, without notes
	asked   bool   // a write was requested, so a mark may be ours
	makes   int32  // the version that the pending write creates
	held    bool   // it was marked: for the others it holds, from here on
	bare    bool   // as last read it has no mark; with held: another client has overwritten that
	head    bool   // it is the first of the waiters
}

func (s *semaphore) conclude(self znode.Contender, ahead []znode.Contender) {
	s.c.listing.self, s.c.listing.front = self, ahead
	s.m.state = Checking
	if s.c.listing.stale {
		s.c.list()
		return
	}
	s.decide()
}

// decide goes on from Checking as far as possible: see Semaphores in doc.go. It may be called after
// every event. Its cases go from the end to the beginning: a contender that is marked needs nothing
// else; the limit is needed only when the order is known, and the sum when both are.
func (s *semaphore) decide() {
	self, mark := s.c.listing.self, &s.m.entry.mark
	switch {
	case s.m.state != Checking || s.c.listing.failed != nil: // the contenders could not be listed
		return
	case mark.held:
		s.c.listing.pred, s.m.blockers, s.m.ahead = "", 0, marked
		if mayHold(s.m.ahead, s.m.proof()) {
			s.m.first()
		}
		return
	case self.Name == "": // the order is not known
		return
	case !s.limit.known:
		s.readLimit(mark.head)
		s.readMark()
		return
	case self.Weight > s.permits.limit && s.limit.at < s.c.listing.ask:
		s.readLimit(mark.head) // it may have been raised since
		return
	case self.Weight > s.permits.limit:
		s.m.fail(fmt.Errorf("%w: it is %d, less than the weight of %d", ErrLimit, s.permits.limit, self.Weight))
		return
	}
	blockers := s.permits.Before(self, s.c.listing.front)
	s.m.blockers = len(blockers)
	switch {
	case len(blockers) == 0:
		s.write()
		return
	case s.m.claims[0].try && s.m.claims[0].newerThan(s.c.listing.ask):
		s.c.list()
		return
	case s.m.claims[0].try && s.m.claims[0].newerThan(s.limit.at):
		s.readLimit(false)
		return
	case s.m.claims[0].try:
		if s.m.refuse(machine.ErrHeld); s.m.state == Leaving {
			return
		}
	}
	s.attend(blockers[len(blockers)-1])
}

// attend sets the watches of a waiter: the head watches the children and the limit, every other
// waiter its predecessor.
func (s *semaphore) attend(last znode.Contender) {
	s.m.ahead = some
	s.c.watchOwn()
	s.m.entry.mark.head = s.m.entry.mark.head || !last.Marks()
	if !s.m.entry.mark.head {
		s.c.listing.pred = znode.Join(s.c.cfg.Parent, last.Name)
		switch {
		case !s.c.listing.predSeen || !s.m.watches.armed(s.c.listing.pred):
			s.m.watch(s.c.listing.pred)
		case mayWait(s.m.ahead, s.m.proof(), false):
			s.m.state = Waiting
		}
		return
	}
	s.c.listing.pred = ""
	if !s.m.watches.armed(s.c.cfg.Parent) {
		s.readLimit(true)
	}
	switch {
	case !s.c.listing.watched:
		s.c.list()
	case mayWait(s.m.ahead, s.m.proof(), false) && s.m.watches.armed(s.c.cfg.Parent):
		s.m.state = Waiting
	}
}

// onPredSeen takes the answer to a read of the predecessor. If the predecessor holds, this is the
// head of the waiters from now on.
func (s *semaphore) onPredSeen(e machine.Seen) {
	s.c.listing.predSeen = true
	if notes, _ := znode.ParseNotes(e.Data); notes.Held {
		s.m.entry.mark.head = true
	}
	s.recheck()
	s.decide()
}

// onChildren handles that a contender came or left.
func (s *semaphore) onChildren() {
	switch {
	case !s.m.entry.mark.head:
	case s.m.state == Waiting, s.m.state == Checking && s.c.listing.watched:
		s.c.list()
	case s.m.state == Listing, s.m.state == Ordering:
		s.c.listing.stale = true // the pending listing may be older
	case s.m.state == Marking:
		s.c.listing.watched = false // if the mark fails, they have to be listed again
	}
}

// readMark reads the own znode, unless its data and version are known, which a mark needs.
func (s *semaphore) readMark() (known bool) {
	if !s.m.entry.mark.known {
		s.m.watch(s.m.entry.path)
	}
	return s.m.entry.mark.known
}

// saw records the answer to a read of the own znode.
func (s *semaphore) saw(e machine.Seen) {
	mark := &s.m.entry.mark
	if e.Stat.Version < mark.version {
		return
	}
	notes, data := znode.ParseNotes(e.Data)
	mark.known, mark.version, mark.data = true, e.Stat.Version, data
	mark.held = mark.held || notes.Held && mark.asked
	mark.bare = !notes.Held
	s.rewrite()
}

// write marks the own znode.
func (s *semaphore) write() {
	if !s.readMark() {
		return
	}
	s.m.state = Marking
	s.m.entry.mark.asked = true
	s.put(machine.Op{Do: machine.Check, Path: s.c.cfg.Parent, Version: s.limit.version})
}

// rewrite writes the mark again if another client has overwritten it. Otherwise the successor would
// not know that it is the head.
func (s *semaphore) rewrite() {
	if mark := &s.m.entry.mark; mark.held && mark.bare && !s.m.pending(marking) {
		s.put()
	}
}

// put writes the mark, in a transaction with these checks.
func (s *semaphore) put(checks ...machine.Op) {
	mark := &s.m.entry.mark
	mark.makes = mark.version + 1
	set := machine.Op{
		Do: machine.Set, Path: s.m.entry.path, Version: mark.version,
		Data: znode.Notes{Unlock: s.m.entry.revoked, Held: true}.Write(mark.data),
	}
	s.m.ask(machine.Transact{Ops: append([]machine.Op{set}, checks...)}, marking)
}

// readTells tells whether a transaction failed because of a version or a missing znode, or has an
// unknown outcome: a read tells how things are.
func readTells(e machine.Transacted) bool {
	return e.Code == machine.Unknown || e.Code == machine.BadVersion || e.Code == machine.NoNode
}

func (s *semaphore) onMarked(e machine.Transacted) {
	switch {
	case s.m.state == Marking && readTells(e): // asked to release meanwhile, or the limit has changed, or it was written after all
		s.m.state = Checking
		s.limit.known, s.m.entry.mark.known = false, false
		s.m.rewatch(s.m.entry.path)
		s.decide()
	case readTells(e):
		s.m.rewatch(s.m.entry.path)
	case e.Err != nil && s.m.state == Holding: // the right to write was taken away, and may come back
		s.c.pause()
	case e.Err != nil:
		s.m.fail(e.Err)
	default:
		s.marked()
	}
}

// marked handles the mark: the own znode existed when it was written, even if a later read said
// otherwise. The watch that notices its deletion is set beside the grant.
func (s *semaphore) marked() {
	mark := &s.m.entry.mark
	if mark.version < mark.makes {
		mark.version, mark.bare = mark.makes, false
	}
	mark.held = true
	s.rewrite()
	if s.m.state != Marking {
		return
	}
	if !s.m.watches.armed(s.m.entry.path) {
		s.m.entry.unread = true
		s.m.watch(s.m.entry.path)
	}
	s.m.state = Checking
	s.decide()
}

// limit is what is known of the semaphore's limit in this epoch.
type limit struct {
	known   bool
	version int32  // of the parent
	at      uint64 // number of the read
}

// readLimit reads the limit: once for a contender that may be granted, with a watch for the head of
// the waiters.
func (s *semaphore) readLimit(watch bool) {
	switch {
	case s.m.pending(writingLimit):
	case watch:
		s.m.watch(s.c.cfg.Parent)
	case !s.m.pending(readingLimit):
		s.m.ask(machine.Read{Path: s.c.cfg.Parent}, readingLimit)
	}
}

// onLimitSeen takes the answer to a read of the parent.
func (s *semaphore) onLimitSeen(e machine.Seen) {
	s.limit.known = false
	s.recheck()
	if s.m.state != Checking && s.m.state != Listing && s.m.state != Ordering {
		return // it is read again when it is needed
	}
	unset, err := false, e.Err
	if err == nil && e.Exists {
		unset, err = s.permits.agree(e.Data)
	}
	switch {
	case err != nil && s.m.state == Checking:
		s.m.fail(err)
	case err != nil:
	case !e.Exists:
		s.m.rewatch(s.m.entry.path) // it cannot exist either
	case unset:
		s.setLimit(e.Stat.Version)
	default:
		s.limit.known, s.limit.version, s.limit.at = true, e.Stat.Version, e.Ask
		s.decide()
	}
}

// setLimit writes the limit, which is not set yet.
func (s *semaphore) setLimit(version int32) {
	if s.m.pending(writingLimit) {
		return
	}
	set := machine.Op{Do: machine.Set, Path: s.c.cfg.Parent, Version: version, Data: strconv.AppendInt(nil, int64(s.permits.limit), 10)}
	s.m.ask(machine.Transact{Ops: []machine.Op{set}}, writingLimit)
}

// onLimitWritten reads the limit that was written, by this machine or by another.
func (s *semaphore) onLimitWritten(e machine.Transacted) {
	switch {
	case s.m.state != Checking:
	case e.Err != nil && !readTells(e):
		s.m.fail(e.Err)
	default:
		s.decide()
	}
}

// onLimitChanged handles that the watch on the parent's data fired.
func (s *semaphore) onLimitChanged() {
	s.limit.known = false
	s.recheck()
	s.decide()
}

// recheck goes back to Checking, because the limit or the predecessor has changed.
func (s *semaphore) recheck() {
	if s.m.state == Waiting {
		s.m.state = Checking
	}
}
