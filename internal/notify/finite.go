package notify

import "sync"

// Finite is a stream of at most a known number of values, each received once by whoever of the
// receivers comes first. It has room for all of them, so that it needs no goroutine, and what was
// sent before its end can still be received after it.
type Finite[T any] struct {
	mu     sync.Mutex
	c      chan T
	closed bool
}

// NewFinite makes one for at most n values.
func NewFinite[T any](n int) *Finite[T] { return &Finite[T]{c: make(chan T, n)} }

// C is the channel, the same every time. It closes with [Finite.Close], after the last value.
func (f *Finite[T]) C() <-chan T { return f.c }

// Send puts a value behind the others. It never blocks; false means that there is no room, or that
// the stream is closed.
func (f *Finite[T]) Send(v T) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return false
	}
	select {
	case f.c <- v:
		return true
	default:
		return false
	}
}

// Close ends it.
func (f *Finite[T]) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.closed = true
		close(f.c)
	}
}
