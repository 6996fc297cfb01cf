package session

import (
	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/znode"
)

// contender is a znode of a seat that stands in ZooKeeper, or may: it is entered before its creation is asked for.
type contender struct {
	seat    *Seat
	epoch   *epoch
	parent  string
	guid    znode.GUID
	path    string        // "" until it is known
	settled *notify.Latch // whether it was created is known
	leaving bool          // it is being deleted: nobody may take it over

	// Of one that a transaction created under a name without a GUID, and whose answer was lost: it is the seat's only if the session owns it and these are
	// its data.
	doubtful bool
	data     []byte
}

// ledger is what exists, or may, in the present epoch. It is guarded by the session's mutex and outlives every actor.
type ledger struct {
	all    map[*contender]struct{}
	byPath map[string]*contender
}

func (l *ledger) enter(c *contender) {
	if l.all == nil {
		l.all, l.byPath = make(map[*contender]struct{}), make(map[string]*contender)
	}
	l.all[c] = struct{}{}
}

// stands notes that a contender was created; false if it was given up meanwhile, with its epoch.
func (l *ledger) stands(c *contender, path string) bool {
	if _, ok := l.all[c]; !ok {
		return false
	}
	c.path = path
	l.byPath[path] = c
	return true
}

// strike takes a contender out: it does not exist, for certain.
func (l *ledger) strike(c *contender) {
	delete(l.all, c)
	if l.byPath[c.path] == c {
		delete(l.byPath, c.path)
	}
}

// gone notes that there is nothing at a path.
func (l *ledger) gone(path string) {
	if c := l.byPath[path]; c != nil {
		l.strike(c)
	}
}

// leaves notes that what stands at a path is being deleted.
func (l *ledger) leaves(path string) {
	if c := l.byPath[path]; c != nil {
		c.leaving = true
	}
}

// of are the contenders of a seat.
func (l *ledger) of(t *Seat) []*contender {
	var all []*contender
	for c := range l.all {
		if c.seat == t {
			all = append(all, c)
		}
	}
	return all
}

// clear forgets everything: the epoch is over.
func (l *ledger) clear() {
	for c := range l.all {
		c.settled.Close()
	}
	clear(l.all)
	clear(l.byPath)
}

// missing notes that there is nothing at a path of the session.
func (s *Session) missing(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ledger.gone(path)
}
