package session

import (
	"bytes"
	"errors"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// expect enters the ephemeral znodes that a transaction is about to create: one for each operation,
// nil for those that create none.
func (s *Session) expect(t *Seat, e *epoch, asks []zkconn.Op) ([]*contender, error) {
	births := make([]*contender, len(asks))
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.over || s.closing {
		return nil, ErrExpired
	}
	for i, ask := range asks {
		if ask.Kind != zkconn.OpCreate || ask.Mode != zkconn.Ephemeral && ask.Mode != zkconn.EphemeralSequential {
			continue
		}
		_, name := znode.Split(ask.Path)
		births[i] = &contender{seat: t, epoch: e, parent: s.relative(parentOf(ask.Path)), data: ask.Data, settled: notify.NewLatch()}
		if _, _, once := znode.Protection(name); ask.Mode == zkconn.Ephemeral && !once {
			births[i].form, births[i].born = znode.Alone, true // its name may come again; a protected one does not
		}
		s.ledger.enter(births[i])
	}
	return births, nil
}

// settled notes what came of a transaction: what was created stands, what was deleted does not. A
// seat that was left meanwhile wants nothing of it.
func (s *Session) settled(t *Seat, births []*contender, asks []zkconn.Op, results []Result, err error) {
	gone := t.inbox.Left()
	s.mu.Lock()
	for i, c := range births {
		switch {
		case err == nil && c != nil:
			s.ledger.forget(c, s.relative(results[i].Path)) // what was there before is gone
			s.ledger.stands(c, s.relative(results[i].Path))
		case err == nil:
			s.changed(asks[i])
		case c == nil:
		case errors.Is(err, ErrUnknownOutcome) && asks[i].Mode == zkconn.Ephemeral && s.ledger.byPath[s.relative(asks[i].Path)] == nil:
			c.doubtful = s.ledger.stands(c, s.relative(asks[i].Path))
		default:
			s.ledger.strike(c)
		}
	}
	s.mu.Unlock()
	for _, c := range births {
		if c == nil {
			continue
		}
		c.settled.Close()
		if gone {
			s.sweep(c)
		}
	}
}

// changed notes what an operation that was carried out did to a znode of the record. With mu held.
func (s *Session) changed(op zkconn.Op) {
	path := s.relative(op.Path)
	switch op.Kind {
	case zkconn.OpDelete:
		if c := s.ledger.byPath[path]; c != nil {
			s.ledger.strike(c)
		}
	case zkconn.OpSet:
		if c := s.ledger.byPath[path]; c != nil && c.doubtful {
			c.doubtful = false // whoever changes it has made sure that it is his
		}
	}
}

// owned looks whether a znode that is in doubt, or said to be gone, is the seat's after all, and
// strikes it if not. One that may not be read is told by its owner and by the record. The error is
// [ErrExpired] or [ErrClosed].
func (s *Session) owned(c *contender) (bool, error) {
	var data []byte
	var stat Stat
	var unread, exists bool
	err := s.insist(c.epoch, func(l *zkconn.Conn) (err error) {
		data, stat, err = l.Get(s.Path(c.path), false)
		if unread = errors.Is(err, ErrNoAuth) || errors.Is(err, ErrTooLarge); unread {
			stat, exists, err = lookOwn(l, s.Path(c.path))
			return anew(err)
		}
		if exists = err == nil; errors.Is(err, ErrNoNode) {
			return nil
		}
		return anew(err)
	})
	if err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	same := bytes.Equal(data, c.data)
	if unread {
		same = s.ledger.byPath[c.path] == c
	}
	if exists && stat.EphemeralOwner == c.epoch.sessionID && (!c.doubtful || same) {
		c.doubtful, c.suspect = false, false
		return true, nil
	}
	s.ledger.strike(c)
	return false, nil
}
