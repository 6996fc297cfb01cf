package session

import (
	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/znode"
)

// Join asks for a place in a line: an ephemeral sequential znode. Of the form Alone it is an
// ephemeral znode with just that name, which is refused with [ErrNodeExists] while there is one.
type Join struct {
	Parent string // of the line; made, as a container, with all above it, if it is missing
	Name   string // what the znode's name begins with, behind the GUID that protects it: "lock-"
	Form   znode.Form
	Data   []byte // if there are none, and the form has no GUID in the name, they are a GUID

	// Replace is the path of an own znode that is deleted in the same transaction, "" for none. If
	// it is gone already, that is fine.
	Replace string
}

// Joined answers [Seat.Join].
type Joined struct {
	Epoch uint64
	Path  string
	Stat  Stat  // of the znode as it was created; the zero one if that was not told, as by an old server
	Err   error // definite: then nothing is left behind
}

// Listed answers [Seat.List], and the listing of [Seat.JoinList].
type Listed struct {
	Epoch uint64
	Path  string   // that was listed
	Names []string // of the children, in no order
	Stat  Stat
	Err   error
}

// Join puts a znode into a line. It is in the session's record before it is asked for, and found
// again if the answer is lost.
func (t *Seat) Join(number uint64, j Join, done func(Joined)) { t.JoinList(number, j, done, nil) }

// JoinList is [Seat.Join] with a listing of the parent that is put on the wire right behind the
// create, so that both take one trip. listed is called after joined; if joining failed, with the
// same error.
func (t *Seat) JoinList(number uint64, j Join, joined func(Joined), listed func(Listed)) {
	refuse := func(err error) {
		joined(Joined{Epoch: number, Err: err})
		if listed != nil {
			listed(Listed{Epoch: number, Path: j.Parent, Err: err})
		}
	}
	t.entered(number, func(e *epoch) (func(), error) {
		s := t.session
		c := s.enroll(t, e, j)
		if c == nil {
			return nil, ErrExpired
		}
		return func() {
			attempt := &joining{session: s, contender: c, join: j, listing: listed != nil}
			done := s.turn(c)
			path, stat, err := attempt.run()
			err = s.enrolled(c, path, stat.Czxid, err)
			done()
			if err != nil {
				refuse(err)
				return
			}
			joined(Joined{Epoch: number, Path: path, Stat: stat})
			if listed != nil {
				names, line, err := attempt.list()
				listed(Listed{Epoch: number, Path: j.Parent, Names: names, Stat: line, Err: err})
			}
		}, nil
	}, refuse)
}

// enroll enters a contender that is about to be created; nil if the epoch is over.
func (s *Session) enroll(t *Seat, e *epoch, j Join) *contender {
	c := &contender{seat: t, epoch: e, parent: j.Parent, guid: znode.NewGUID(), form: j.Form, settled: notify.NewLatch()}
	c.data = j.Form.Data(c.guid, j.Data)
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.over || s.closing {
		return nil
	}
	s.ledger.enter(c)
	return c
}

// enrolled notes what came of it. A seat that was left meanwhile wants it no more.
func (s *Session) enrolled(c *contender, path string, czxid int64, err error) error {
	defer c.settled.Close()
	gone := c.seat.inbox.Left()
	s.mu.Lock()
	c.czxid = czxid
	if err == nil && c.form == znode.Alone {
		s.ledger.forget(c, path)
	}
	switch {
	case err != nil:
		s.ledger.strike(c)
	case !s.ledger.stands(c, path):
		err = ErrExpired
	}
	s.mu.Unlock()
	if err == nil && gone {
		s.sweep(c)
	}
	return err
}
