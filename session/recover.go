package session

import (
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// Debris are the paths of what this seat has standing in ZooKeeper, as far as they are known,
// without what is being deleted.
func (t *Seat) Debris() []string { return t.debris(false) }

func (t *Seat) debris(leaving bool) []string {
	s := t.session
	s.mu.Lock()
	defer s.mu.Unlock()
	var paths []string
	for _, c := range s.ledger.of(t) {
		if c.path != "" && c.leaving == leaving {
			paths = append(paths, c.path)
		}
	}
	return paths
}

// Recover tells, after the restart of whoever has the seat, which of its znodes really exist in
// this epoch: those that stand, and apart those whose deletion is under way, which nobody may take
// over. Creates and transactions that were under way are waited for, so that nothing turns up
// later, but not a transaction that deletes a znode of the seat: whoever recovers deletes that, or
// leaves it alone, and then the transaction comes to nothing. Errors: [ErrExpired], [ErrClosed].
func (t *Seat) Recover(number uint64, done func(standing, leaving []string, err error)) {
	underway := t.underway()
	t.within(number, func(e *epoch) {
		s := t.session
		s.mu.Lock()
		debris := s.ledger.of(t)
		s.mu.Unlock()
		for _, c := range debris {
			<-c.settled.C()
		}
		for _, write := range underway {
			<-write.C() // with the epoch at the latest
		}
		if err := s.insist(e, func(c *zkconn.Conn) error { return anew(caughtUp(c)) }); err != nil {
			done(nil, nil, err)
			return
		}
		for _, c := range debris {
			if !s.inDoubt(c) {
				continue
			}
			if _, err := s.owned(c); err != nil {
				done(nil, nil, err)
				return
			}
		}
		var found [2][]string
		for kind, paths := range [2][]string{t.debris(false), t.debris(true)} {
			for _, path := range paths {
				exists, err := s.exists(t, e, path)
				if err != nil {
					done(nil, nil, err)
					return
				}
				if exists {
					found[kind] = append(found[kind], path)
				}
			}
		}
		done(found[0], found[1], nil)
	}, func(err error) { done(nil, nil, err) })
}

func (s *Session) inDoubt(c *contender) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return c.doubtful
}

// exists looks whether a contender of the record is there, and strikes it if not.
func (s *Session) exists(t *Seat, e *epoch, path string) (exists bool, err error) {
	s.mu.Lock()
	c := s.ledger.at(t, path)
	s.mu.Unlock()
	var seen proof
	err = s.insist(e, func(l *zkconn.Conn) (err error) {
		if c != nil && c.form == znode.Alone {
			exists, err = s.stands(l, &seen, c)
			return anew(err)
		}
		exists, err = stands(l, s.Path(path))
		return anew(err)
	})
	if err == nil && !exists {
		s.removed(c, path)
	}
	return exists, err
}
