package session

import (
	"errors"

	"github.com/troupe-go/troupe/session/internal/link"
)

// Remove deletes a znode for certain: it is repeated until ZooKeeper has confirmed that it is gone, or the epoch is over. done gets nil in both cases.
func (t *Seat) Remove(number uint64, path string, done func(error)) {
	t.within(number, func(e *epoch) {
		t.session.remove(e, path)
		done(nil)
	}, func(error) { done(nil) })
}

// remove deletes until it is gone. What stands in its way (a right that was taken away) may be put right by somebody, so it is tried again.
func (s *Session) remove(e *epoch, path string) {
	s.mu.Lock()
	s.ledger.leaves(path)
	s.mu.Unlock()
	for try := 1; ; try++ {
		err := s.insist(e, func(c *link.Conn) error { return c.Delete(s.Path(path), -1) })
		switch {
		case err == nil, errors.Is(err, ErrNoNode):
			s.missing(path)
			return
		case errors.Is(err, ErrExpired), errors.Is(err, ErrClosed):
			return
		}
		if try == 1 {
			s.log.Warn("a znode can't be deleted; trying again until the epoch ends", "path", path, "error", err)
		}
		s.pause(s.life, backoff(try))
	}
}

// sweep deletes, in the background, a contender that nobody wants any more. One that is still being created is swept when that is done.
func (s *Session) sweep(c *contender) {
	s.tasks.run(func() {
		<-c.settled.C()
		s.mu.Lock()
		path, doubtful := c.path, c.doubtful
		s.mu.Unlock()
		if doubtful {
			if mine, err := s.owned(c); err != nil || !mine {
				return // it is not there, or the epoch is over
			}
		}
		if path != "" {
			s.remove(c.epoch, path)
		}
	})
}
