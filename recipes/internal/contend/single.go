package contend

import (
	"errors"

	"github.com/troupe-go/troupe/machine"
)

// single is the strategy of a machine that wants the one znode at a path: the one who creates it
// has its turn, and all others wait until it is deleted.
//
// A read or an event is about the znode that was at the path at that instant, which may have been
// another's. So a holder reads before it concludes that its own is gone.
type single struct {
	*Machine
	path    string
	created uint64 // number of the last create
}

func (s *single) on(_ request, ev machine.Event) {
	switch ev := ev.(type) {
	case machine.Seen:
		s.onSeen(ev)
	case machine.Fired:
		s.onFired(ev)
	}
}

func (s *single) entering(ask uint64) { s.created = ask }

// occupied waits for the other's znode. A try is refused, if the create was sent after it was
// wanted.
func (s *single) occupied(err error) bool {
	if !errors.Is(err, machine.ErrHeld) {
		return false
	}
	s.requests.Emit(s.entry.whenGone...)
	s.entry = entry{}
	if len(s.claims) > 0 && s.claims[0].try {
		if s.created <= s.claims[0].since { // the other's znode may be gone since
			s.enter()
			return true
		}
		s.requests.Emit(s.claims.refuse(machine.ErrHeld))
	}
	if len(s.claims) == 0 {
		s.state = Idle
		return true
	}
	s.read()
	return true
}

// entered: the reply may have been lost, or come from an old server that tells no owner. A pending
// read may be older than the znode.
func (s *single) entered() {
	s.ahead = none
	if !s.entry.unread {
		s.confirm()
		return
	}
	s.rewatch(s.path) // at once: whoever deletes it may make another there, which must not be taken for it
	s.advance()
}

func (s *single) advance() {
	if mayHold(s.ahead, s.proof()) {
		s.first()
	}
}

// confirm reads the own znode before it is granted: the events that come now may tell of its
// deletion.
func (s *single) confirm() {
	s.state = Checking
	s.rewatch(s.path)
}

// ended deletes the znode, so that it is not granted again.
func (s *single) ended() { s.leave() }

func (s *single) unwanted() {
	if s.state == Watching {
		s.watches.unwatch(s.path)
	}
	if s.state == Reading || s.state == Watching {
		s.state = Idle
	}
}

func (*single) forget() {}

// read reads the other's znode with a watch.
func (s *single) read() {
	s.state, s.blockers = Reading, 1
	s.watch(s.path)
}

func (s *single) onSeen(e machine.Seen) {
	stale := s.watches.answered(e)
	switch {
	case s.state == Reading:
		s.onOtherSeen(e, stale)
	case s.state.placed() && stale:
		s.watch(s.path)
	case s.state.placed():
		s.onOwnSeen(e)
	}
}

// onOtherSeen: the other's znode was read.
func (s *single) onOtherSeen(e machine.Seen, stale bool) {
	switch {
	case e.Err != nil: // its deletion would not be noticed
		s.requests.Emit(s.claims.fail(e.Err)...)
		s.state = Idle
	case !e.Exists:
		s.enter()
	case stale:
		s.watch(s.path)
	default:
		s.state = Watching
	}
}

// onOwnSeen: the own znode was read, or another in its place.
func (s *single) onOwnSeen(e machine.Seen) {
	known := s.entry.czxid
	switch {
	case e.Err != nil && s.state == Holding:
		s.unwatched(e.Err)
		return
	case e.Err != nil:
		s.fail(e.Err)
		return
	case !e.Exists || e.Stat.Owner != s.session.id || known != 0 && e.Stat.Czxid != known:
		s.lost()
		return
	}
	s.entry.note(e)
	switch s.state {
	case Holding:
		s.entry.tellRevoked(&s.requests)
	case Checking:
		s.advance()
	}
}

// onFired: the znode at the path when the watch was set has changed, or was deleted.
func (s *single) onFired(e machine.Fired) {
	if e.Path != s.path {
		return
	}
	s.watches.fired(s.path)
	switch {
	case s.state == Watching && e.Change == machine.Deleted:
		s.enter()
	case s.state == Watching:
		s.read()
	case s.state.placed():
		s.watch(s.path)
	}
}
