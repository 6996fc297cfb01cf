package pact

import "github.com/troupe-go/troupe/machine"

// inbox is a site's, as it sees it. Who begins a transaction writes to it: that fires the watch on
// its data, and the site's own deletions do not. It is listed when what it held is used up, there
// is room, and it was written to since. So the entries that wait are listed once in a window, and
// those that the site has acknowledged do not have the rest listed again.
type inbox struct {
	s       *Site
	rung    bool   // it was written to since the last listing, or was not listed yet
	armed   bool   // the next write is heard of
	fired   bool   // a watch of before fired while the answer was awaited that leaves the next one
	asking  int    // how many answers are awaited
	resting bool   // it was listed a moment ago, and that was long
	listed  bool   // in this epoch
	lists   uint64 // how many listings were asked
	seen    machine.Seen
	list    machine.Listed
}

// reset forgets what belonged to the epoch.
func (b *inbox) reset() { b.rung, b.armed, b.fired, b.asking, b.listed = false, false, false, 0, false }

func (b *inbox) busy() bool { return b.asking > 0 || b.listed }

// ring: it has been written to.
func (b *inbox) ring() {
	b.rung = true
	b.look()
}

// look lists the inbox, if that is due, and arms the watch. The two are asked together; which comes
// first is seen by the version of the data.
func (b *inbox) look() {
	s := b.s
	if !b.rung || b.asking > 0 || b.resting || len(s.waiting) > 0 || !s.room() || s.closing || s.stopped || s.desk.epoch == 0 {
		return
	}
	path := s.root.Inbox(s.name)
	b.rung, b.seen = false, machine.Seen{}
	b.lists++
	number := b.lists
	if !b.armed {
		b.asking++
		b.fired = false
		s.desk.read(path, watcher{b, func() {
			b.armed, b.fired = false, true
			b.ring()
		}}, func(ev machine.Seen) {
			b.seen, b.armed = ev, ev.Exists && !b.fired
			b.answered(number)
		})
	}
	b.asking++
	s.desk.names(path, func(ev machine.Listed) {
		b.list = ev
		b.answered(number)
	})
}

func (b *inbox) answered(number uint64) {
	s := b.s
	if b.asking--; b.asking > 0 {
		return
	}
	if b.seen.Code == machine.Refused {
		s.stop(b.seen.Err)
		return
	}
	switch b.list.Code {
	case machine.Done:
	case machine.NoNode:
		b.furnish()
		return
	default:
		s.stop(b.list.Err)
		return
	}
	if b.seen.Exists && (b.seen.Stat.Czxid != b.list.Stat.Czxid || b.seen.Stat.Version > b.list.Stat.Version) || !b.armed {
		b.rung = true // it was written to between the two
	}
	b.listed = true
	b.rest(len(b.list.Names))
	s.found(number, entries(b.list.Names))
}

// furnish makes it, and lists it again.
func (b *inbox) furnish() {
	b.asking++
	b.armed = false
	b.s.desk.ensure(func(err error) {
		b.asking--
		if err != nil {
			b.s.stop(err)
			return
		}
		b.ring()
	}, b.s.root.Inbox(b.s.name))
}

// rest has the next listing wait for a moment if this one was long: so many open transactions cost
// no more than their number per moment.
func (b *inbox) rest(names int) {
	const short, perMillisecond = 64, 16
	if names <= short || b.resting {
		return
	}
	b.resting = true
	b.s.desk.pause(int64(names/perMillisecond), func() {
		b.resting = false
		b.look()
	})
}
