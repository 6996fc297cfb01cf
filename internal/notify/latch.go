package notify

import (
	"context"
	"sync"
)

// Latch is a fact that comes true once. The zero value is open, and costs no channel until C is
// called.
type Latch struct {
	mu     sync.Mutex
	closed bool
	c      chan struct{} // nil until C is called
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

// End is how something ended: once, with a reason that is there before the channel closes. The zero
// value has not ended, and costs no channel until Done is called.
type End struct {
	latch Latch
	err   error // under its mutex, so that the reason and the close are seen together
}

// Done closes when it has ended; Err is set by then. It is the same channel every time.
func (e *End) Done() <-chan struct{} { return e.latch.C() }

// Err is nil exactly while Done is open.
func (e *End) Err() error {
	e.latch.mu.Lock()
	defer e.latch.mu.Unlock()
	return e.err
}

// Set ends it with a reason, which must not be nil, and tells whether this call did.
func (e *End) Set(err error) bool {
	e.latch.mu.Lock()
	defer e.latch.mu.Unlock()
	if e.err == nil {
		e.err = err
	}
	return e.latch.closeLocked()
}

// Wait waits until done closes, or until ctx ends, whose cause it returns then. If both have
// happened, done counts.
func Wait(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	select {
	case <-done:
		return nil
	default:
		return context.Cause(ctx)
	}
}
