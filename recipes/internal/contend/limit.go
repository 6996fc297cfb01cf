package contend

import (
	"strconv"

	"github.com/troupe-go/troupe/machine"
)

// limit is what a machine knows of a semaphore's limit in this epoch.
type limit struct {
	known   bool
	version int32  // of the parent
	at      uint64 // number of the read that told it
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

// onLimitSeen: the parent was read.
func (s *semaphore) onLimitSeen(e machine.Seen) {
	s.limit.known = false
	s.unsettle()
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

// setLimit writes the limit if nobody has.
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
	case e.Err != nil && !stale(e):
		s.m.fail(e.Err)
	default:
		s.decide()
	}
}

// onLimitChanged: the watch on the parent's data fired.
func (s *semaphore) onLimitChanged() {
	s.limit.known = false
	s.unsettle()
	s.decide()
}

// unsettle: what was waited for has changed.
func (s *semaphore) unsettle() {
	if s.m.state == Waiting {
		s.m.state = Checking
	}
}
