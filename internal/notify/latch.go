package notify

import "sync"

// Latch is a fact that comes true once. The zero value is not usable: see [NewLatch].
type Latch struct {
	once sync.Once
	c    chan struct{}
}

// NewLatch makes an open latch.
func NewLatch() *Latch { return &Latch{c: make(chan struct{})} }

// C closes when the fact comes true.
func (l *Latch) C() <-chan struct{} { return l.c }

// Close makes it true, and tells whether this call did.
func (l *Latch) Close() bool {
	first := false
	l.once.Do(func() {
		first = true
		close(l.c)
	})
	return first
}

// Closed tells whether it is true.
func (l *Latch) Closed() bool {
	select {
	case <-l.c:
		return true
	default:
		return false
	}
}
