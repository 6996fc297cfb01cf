package notify

import "sync"

// Latch is a fact that comes true once. The zero value is open, and costs no channel until somebody
// waits.
type Latch struct {
	mu     sync.Mutex
	closed bool
	c      chan struct{} // nil until somebody wants it
}

// C closes when the fact comes true. It is the same channel every time.
func (l *Latch) C() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.c == nil {
		l.c = make(chan struct{})
		if l.closed {
			close(l.c)
		}
	}
	return l.c
}

// Close makes it true, and tells whether this call did.
func (l *Latch) Close() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closeLocked()
}

func (l *Latch) closeLocked() (first bool) {
	if first = !l.closed; first && l.c != nil {
		close(l.c)
	}
	l.closed = true
	return first
}

// Closed tells whether it is true.
func (l *Latch) Closed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}
