package protocol

// Moved has every change of a transaction's phase reported.
func (c *Coordinator) Moved(f func(from, to Phase)) *Coordinator { c.moved = f; return c }

// Moved has every change of a transaction's phase reported.
func (s *Site) Moved(f func(from, to Phase)) *Site { s.moved = f; return s }

// Armed is how many wait for a watch.
func (c *Coordinator) Armed() int { return c.requests.waiting() }

// Armed is how many wait for a watch.
func (s *Site) Armed() int { return s.requests.waiting() }

func (r *requests) waiting() (n int) {
	for _, all := range r.watches {
		n += len(all)
	}
	return n
}

// Rooms is of how many inboxes something is known.
func (c *Coordinator) Rooms() int { return len(c.admission.quotas) }
