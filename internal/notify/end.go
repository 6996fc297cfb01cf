package notify

import "sync"

// End is how something ended: once, with a reason that is there before the channel closes. The zero
// value has not ended, and costs no channel until somebody wants it.
type End struct {
	mu   sync.Mutex
	err  error
	done chan struct{}
}

// NewEnd makes one that has not ended.
func NewEnd() *End { return new(End) }

// Done closes when it has ended; Err is set by then. It is the same channel every time.
func (e *End) Done() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.doneLocked()
}

func (e *End) doneLocked() chan struct{} {
	if e.done == nil {
		e.done = make(chan struct{})
	}
	return e.done
}

// Err is nil exactly while Done is open.
func (e *End) Err() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err
}

// Set ends it with a reason, which must not be nil, and tells whether this call did.
func (e *End) Set(err error) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.err != nil {
		return false
	}
	e.err = err
	close(e.doneLocked()) // under the mutex, so that nobody sees the reason without the close or the close without the reason
	return true
}
