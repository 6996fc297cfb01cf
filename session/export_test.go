package session

import "time"

// PanicSession makes the session's own actor panic.
func PanicSession(s *Session, value any) { s.ref.Tell(poked{func(*steward) { panic(value) }}) }

// Occupy keeps the session's own actor from everything else until it is let go.
func Occupy(s *Session) (letGo func()) {
	occupied := make(chan struct{})
	s.ref.Tell(poked{func(*steward) { <-occupied }})
	return func() { close(occupied) }
}

// PanicWatchData makes the actor behind WatchData of a path panic; false if there is none.
func PanicWatchData(s *Session, path string, value any) bool {
	s.mu.Lock()
	w := s.dataWatches[path]
	s.mu.Unlock()
	if w == nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ref.Tell(prodded{func() { panic(value) }})
}

// ShiftWall lets the session see the wall clock jump.
func ShiftWall(s *Session, d time.Duration) { s.clock.wallSlip.Add(int64(d)) }

// ShiftMono lets the session see the monotonic clock jump.
func ShiftMono(s *Session, d time.Duration) { s.clock.monoSlip.Add(int64(d)) }

// Hush keeps the session from noticing anything until it is let go.
func Hush(s *Session) (letGo func()) {
	s.mu.Lock()
	return s.mu.Unlock
}

// WatchEntries is how many watches the session's table has: what ZooKeeper is believed to watch.
func WatchEntries(s *Session) int {
	n := make(chan int, 1)
	s.ref.Tell(poked{func(w *steward) { n <- w.table.Len() }})
	return <-n
}

// LedgerLen is how many znodes of the session's seats exist, or may.
func LedgerLen(s *Session) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.ledger.all)
}

// SharedWatches is how many shared watches there are.
func SharedWatches(s *Session) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.dataWatches) + len(s.childWatches)
}
