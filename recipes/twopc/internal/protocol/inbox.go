package protocol

import "github.com/troupe-go/troupe/machine"

// inbox is a site's inbox. The begin of a transaction writes to the inbox's data. That fires the
// site's data watch; the site's own deletions do not. The site lists its inbox when it has taken
// all known entries, has room for more, and the inbox was written to since the last listing. So
// waiting entries are listed once per window, and acknowledging some does not list the others
// again.
type inbox struct {
	s      *Site
	unread bool   // written to since the last listing, or not listed yet
	armed  bool   // the watch is set
	fired  bool   // an earlier watch fired while the read that sets the next one was in flight
	asking int    // number of pending replies
	paused bool   // it was listed a moment ago, and the listing was long
	listed bool   // it was listed in this epoch
	lists  uint64 // number of listings requested
	seen   machine.Seen
	list   machine.Listed
}

// reset forgets the state of the epoch.
func (b *inbox) reset() {
	b.unread, b.armed, b.fired, b.asking, b.listed = false, false, false, 0, false
}

func (b *inbox) busy() bool { return b.asking > 0 || b.listed }

// notified handles a write to the inbox.
func (b *inbox) notified() {
	b.unread = true
	b.look()
}

// look lists the inbox, if that is due, and sets the watch. Both requests are sent together; the
// version of the data tells which was carried out first.
func (b *inbox) look() {
	s := b.s
	if !b.unread || b.asking > 0 || b.paused || len(s.waiting) > 0 || !s.room() || s.closing || s.stopped || s.requests.Epoch() == 0 {
		return
	}
	path := s.root.Inbox(s.name)
	b.unread, b.seen = false, machine.Seen{}
	b.lists++
	number := b.lists
	if !b.armed {
		b.asking++
		b.fired = false
		s.requests.readWatch(path, watcher{b, func() {
			b.armed, b.fired = false, true
			b.notified()
		}}, func(ev machine.Seen) {
			b.seen, b.armed = ev, ev.Exists && !b.fired
			b.answered(number)
		})
	}
	b.asking++
	s.requests.list(path, func(ev machine.Listed) {
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
		b.create()
		return
	default:
		s.stop(b.list.Err)
		return
	}
	if b.seen.Exists && (b.seen.Stat.Czxid != b.list.Stat.Czxid || b.seen.Stat.Version > b.list.Stat.Version) || !b.armed {
		b.unread = true // written to between the two
	}
	b.listed = true
	b.throttle(len(b.list.Names))
	s.found(number, entries(b.list.Names))
}

// create creates the inbox, and lists it again.
func (b *inbox) create() {
	b.asking++
	b.armed = false
	b.s.requests.ensure(func(err error) {
		b.asking--
		if err != nil {
			b.s.stop(err)
			return
		}
		b.notified()
	}, b.s.root.Inbox(b.s.name))
}

// throttle delays the next listing after a long one, in proportion to its length. So many open
// transactions cost no more than a bounded number of names per millisecond.
func (b *inbox) throttle(names int) {
	const short, perMillisecond = 64, 16
	if names <= short || b.paused {
		return
	}
	b.paused = true
	b.s.requests.pause(int64(names/perMillisecond), func() {
		b.paused = false
		b.look()
	})
}
