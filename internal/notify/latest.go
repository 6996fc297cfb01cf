package notify

import "sync"

// Latest is a state with one reader: the new one replaces the one that was not received yet.
type Latest[T any] struct {
	mu     sync.Mutex
	c      chan T
	closed bool
}

// NewLatest makes one without a state yet.
func NewLatest[T any]() *Latest[T] { return &Latest[T]{c: make(chan T, 1)} }

// C delivers the newest state not received yet. It closes with [Latest.Close], after the last
// state.
func (l *Latest[T]) C() <-chan T { return l.c }

// Publish replaces the state. After Close it does nothing.
func (l *Latest[T]) Publish(v T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	select {
	case <-l.c: // the old one
	default:
	}
	l.c <- v // never waits: only Publish sends, under the mutex, and the one place is free
}

// Close ends it. A state that was not received yet can still be.
func (l *Latest[T]) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.closed = true
		close(l.c)
	}
}
