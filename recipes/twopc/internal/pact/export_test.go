package pact

// Moved has every change of a transaction's phase reported.
func (c *Coordinator) Moved(f func(from, to Phase)) *Coordinator { c.moved = f; return c }

// Moved has every change of a transaction's phase reported.
func (s *Site) Moved(f func(from, to Phase)) *Site { s.moved = f; return s }
