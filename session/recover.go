package session

import "github.com/troupe-go/troupe/session/internal/link"

// Debris are the paths of what this seat has standing in ZooKeeper, as far as they are known, without what is being deleted.
func (t *Seat) Debris() []string {
	s := t.session
	s.mu.Lock()
	defer s.mu.Unlock()
	var paths []string
	for _, c := range s.ledger.of(t) {
		if c.path != "" && !c.leaving {
			paths = append(paths, c.path)
		}
	}
	return paths
}

// Recover tells, after the restart of whoever has the seat, which of its znodes really exist in this epoch. Creates that were under way are waited for, so
// that none turns up later.
func (t *Seat) Recover(number uint64, done func(paths []string, err error)) {
	t.within(number, func(e *epoch) {
		s := t.session
		s.mu.Lock()
		debris := s.ledger.of(t)
		s.mu.Unlock()
		for _, c := range debris {
			<-c.settled.C()
		}
		if err := s.insist(e, func(c *link.Conn) error { return c.Sync("/") }); err != nil {
			done(nil, err)
			return
		}
		var paths []string
		for _, path := range t.Debris() {
			var exists bool
			err := s.insist(e, func(c *link.Conn) (err error) {
				_, exists, err = c.Exists(s.Path(path), false)
				return err
			})
			switch {
			case err != nil:
				done(nil, err)
				return
			case exists:
				paths = append(paths, path)
			default:
				s.missing(path)
			}
		}
		done(paths, nil)
	}, func(err error) { done(nil, err) })
}
