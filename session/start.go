package session

// WithDeferredStart has what merely follows ZooKeeper, config.Cell and twopc.Site, wait until the
// session is started: by [Session.Start], [Session.Connect], or the first thing that somebody asks
// of ZooKeeper through it. Without it, these start the session when they are made. It is for
// whoever makes everything first, and starts it later or not at all, as package fxmodule does.
func WithDeferredStart() Option {
	return func(c *config) error {
		c.deferred = true
		return nil
	}
}

// Start begins to connect, if that has not begun, and does not wait. The first operation, watch or
// wish of a recipe does so too.
func (s *Session) Start() {
	s.mu.Lock()
	first := !s.started && !s.closing
	s.started = s.started || first
	s.mu.Unlock()
	if first {
		s.ref.Tell(begin{})
		s.runDeferred()
	}
}

// AfterStart starts the session and calls f, at once. With [WithDeferredStart] it does not start
// the session, and f is called when something else has: by whoever does, so f must not block. If
// the session ends before that f is called too, so that it can see that. For those who write
// recipes.
func (s *Session) AfterStart(f func()) {
	s.mu.Lock()
	wait := s.cfg.deferred && !s.started && !s.closing
	if wait {
		s.deferred = append(s.deferred, f)
	}
	s.mu.Unlock()
	if !wait {
		s.Start()
		f()
	}
}

// runDeferred calls what has waited for the start.
func (s *Session) runDeferred() {
	s.mu.Lock()
	waiting := s.deferred
	s.deferred = nil
	s.mu.Unlock()
	for _, f := range waiting {
		f()
	}
}
