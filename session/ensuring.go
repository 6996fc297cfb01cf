package session

import (
	"errors"

	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// Ensure makes what is missing of a path: the znode itself persistent, with data, or as a container
// without if container; those above it as containers, where the server has them. One that exists is
// left as it is. It may be repeated without harm, so a lost answer is no error.
func (t *Seat) Ensure(number uint64, path string, container bool, data []byte, done func(error)) {
	s := t.session
	if err := validate(path); err != nil {
		t.within(number, func(*epoch) { done(err) }, func(error) { done(err) })
		return
	}
	t.within(number, func(e *epoch) {
		at := s.Path(path)
		done(s.insist(e, bounded(func(c *zkconn.Conn) error {
			err := s.born(c, at, container, data)
			if !errors.Is(err, ErrNoNode) {
				return err
			}
			if err := s.ensureParents(c, at); err != nil {
				return err
			}
			return s.born(c, at, container, data)
		})))
	}, done)
}

// born creates a znode; that it exists already is as good.
func (s *Session) born(c *zkconn.Conn, path string, container bool, data []byte) error {
	if container {
		return s.make(c, path, zkconn.Container)
	}
	_, err := c.Create(path, data, zkconn.Persistent, 0, s.cfg.acl)
	if errors.Is(err, ErrNodeExists) {
		return nil
	}
	return err
}
