package contend

import (
	"errors"

	"github.com/troupe-go/troupe/machine"
)

// single is the strategy of a machine that wants the one znode at a path: the client that creates
// it has its turn, and all others wait until it is deleted.
//
// A read or an event is about the znode that was at the path at that instant, perhaps another
// client's. So a holder reads before it concludes that its own is gone.
type single struct {
	m       *Machine
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

// occupied waits for the deletion of another client's znode. A try is refused if the create was
// sent after the claim was made.
func (s *single) occupied(err error) bool {
	if !errors.Is(err, machine.ErrHeld) {
		return false
	}
	s.m.requests.Emit(s.m.entry.whenGone...)
	s.m.entry = entry{}
	if len(s.m.claims) > 0 && s.m.claims[0].try {
		if s.m.claims[0].newerThan(s.created) { // the other's znode may be gone since
			s.m.enter()
			return true
		}
		s.m.requests.Emit(machine.Settle{Claim: s.m.claims[0].id, Err: machine.ErrHeld})
		s.m.claims = s.m.claims[1:]
	}
	if len(s.m.claims) == 0 {
		s.m.state = Idle
		return true
	}
	s.read()
	return true
}

// entered grants at once if the reply told the owner. Otherwise the reply was lost, or came from an
// old server, and the znode is read. A pending read may be older than the znode.
func (s *single) entered() {
	s.m.ahead = none
	if !s.m.entry.unread {
		s.confirm()
		return
	}
	s.m.rewatch(s.path) // at once: a later znode at the path must not be taken for this one; the grant does not wait for the answer
	s.advance()
}

func (s *single) advance() {
	if mayHold(s.m.ahead, s.m.proof()) {
		s.m.first()
	}
}

// confirm reads the own znode before it is granted: it may have been deleted, and that event may be
// on its way.
func (s *single) confirm() {
	s.m.state = Checking
	s.m.rewatch(s.path)
}

// ended deletes the znode, so that it is not granted again.
func (s *single) ended() { s.m.leave() }

func (s *single) unwanted() {
	if s.m.state == Watching {
		s.m.watches.unwatch(s.path)
	}
	if s.m.state == Reading || s.m.state == Watching {
		s.m.state = Idle
	}
}

func (*single) forget() {}

// read reads the other's znode with a watch.
func (s *single) read() {
	s.m.state, s.m.blockers = Reading, 1
	s.m.watch(s.path)
}

func (s *single) onSeen(e machine.Seen) {
	stale := s.m.watches.answered(e)
	switch {
	case s.m.state == Reading:
		s.onOtherSeen(e, stale)
	case placed(s.m.state) && stale:
		s.m.watch(s.path)
	case placed(s.m.state):
		s.onOwnSeen(e)
	}
}

// onOtherSeen takes the answer to a read of another client's znode.
func (s *single) onOtherSeen(e machine.Seen, stale bool) {
	switch {
	case e.Err != nil: // its deletion would not be noticed
		s.m.requests.Emit(s.m.settleAll(e.Err)...)
		s.m.state = Idle
	case !e.Exists:
		s.m.enter()
	case stale:
		s.m.watch(s.path)
	default:
		s.m.state = Watching
	}
}

// onOwnSeen takes the answer to a read of the own znode, or of another in its place.
func (s *single) onOwnSeen(e machine.Seen) {
	known := s.m.entry.czxid
	ours := e.Exists && e.Stat.Owner == s.m.session.id && (known == 0 || e.Stat.Czxid == known)
	switch {
	case e.Err != nil && s.m.state == Holding:
		s.m.unwatched(e.Err)
		return
	case e.Err != nil:
		s.m.fail(e.Err)
		return
	case !ours:
		s.m.ownGone()
		return
	}
	s.m.entry.saw(e)
	switch s.m.state {
	case Holding:
		s.m.entry.tellRevoked(&s.m.requests)
	case Checking:
		s.advance()
	}
}

// onFired handles that the znode at the path, as it was when the watch was set, has changed or was
// deleted.
func (s *single) onFired(e machine.Fired) {
	if e.Path != s.path {
		return
	}
	s.m.watches.fired(s.path)
	switch {
	case s.m.state == Watching && e.Change == machine.Deleted:
		s.m.enter()
	case s.m.state == Watching:
		s.read()
	case placed(s.m.state):
		s.m.watch(s.path)
	}
}
