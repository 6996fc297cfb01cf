package zkserver

import "time"

// SlowHandshakes lets each handshake cost its server this much work, 0 for none. A server does this
// work one handshake after the other, in the order in which they came, and also for clients that
// have hung up meanwhile, as a real one does under a herd that comes back. Those that wait keep
// what they were told to wait.
func (s *Server) SlowHandshakes(cost time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handshakeCost = cost
}

// queueUp is how long a handshake that comes now waits until the server is through with it. The
// caller holds the server's lock.
func (f *Front) queueUp(now time.Time) time.Duration {
	if f.s.handshakeCost <= 0 {
		return 0
	}
	if f.busyUntil.Before(now) {
		f.busyUntil = now
	}
	f.busyUntil = f.busyUntil.Add(f.s.handshakeCost)
	return f.busyUntil.Sub(now)
}
