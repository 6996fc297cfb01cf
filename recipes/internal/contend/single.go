package contend

import (
	"errors"

	"github.com/troupe-go/troupe/machine"
)

// single is the strategy of a machine whose znode is the only one that there can be: whoever
// creates it has its turn, and all others wait for it to go.
//
// What a read or an event is about is whatever stood at the path at that instant, which may have
// been somebody else's znode. So a holder reads before it believes that its own is gone.
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

// occupied: the answer also refuses a try, if it was asked for after that was wanted.
func (s *single) occupied(err error) bool {
	if !errors.Is(err, machine.ErrHeld) {
		return false
	}
	s.do(s.own.whenGone...)
	s.own = own{}
	if len(s.claims) > 0 && s.claims[0].try {
		if s.created <= s.claims[0].since { // whoever it was may be gone since
			s.enter()
			return true
		}
		s.do(s.claims.refuse(machine.ErrHeld))
	}
	if len(s.claims) == 0 {
		s.state = Idle
		return true
	}
	s.read()
	return true
}

// entered: the answer may have been lost, or an old server does not tell. A read under way may be
// from before the znode stood.
func (s *single) entered() {
	if !s.own.unread {
		s.confirm()
		return
	}
	s.first()
	s.rewatch(s.path)
}

func (s *single) recovered() { s.confirm() }

func (s *single) advance() { s.first() }

// confirm reads the own znode before anything comes of it: its end may be among the events that
// come now.
func (s *single) confirm() {
	s.state = Checking
	s.rewatch(s.path)
}

// ended deletes the znode, so that nothing comes of it again; who is next is open.
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

// read reads what stands in the way, and watches it.
func (s *single) read() {
	s.state, s.ahead = Reading, 1
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

// onOtherSeen: what stands in the way was read.
func (s *single) onOtherSeen(e machine.Seen, stale bool) {
	switch {
	case e.Err != nil: // nobody would tell when it goes
		s.do(s.claims.fail(e.Err)...)
		s.state = Idle
	case !e.Exists:
		s.enter()
	case stale:
		s.watch(s.path)
	default:
		s.state = Watching
	}
}

// onOwnSeen: the own znode was read, or what is there in its place.
func (s *single) onOwnSeen(e machine.Seen) {
	known := s.own.czxid
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
	s.own.note(e)
	switch {
	case s.state == Holding:
		s.own.tellRevoked(&s.requests)
	case len(s.claims) == 0: // recovered, and nobody wants it any more
		s.leave()
	case s.state == Checking:
		s.first()
	}
}

// onFired: what stood at the path when the watch was armed has changed, or has gone.
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
