package notify

import "sync"

// End is how something ended: once, with a reason that is there before the channel closes.
type End struct {
	mu   sync.Mutex
	err  error
	done chan struct{}
}

// NewEnd makes one that has not ended.
func NewEnd() *End { return &End{done: make(chan struct{})} }

// Done closes when it has ended; Err is set by then.
func (e *End) Done() <-chan struct{} { return e.done }

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
	close(e.done) // under the mutex, so that nobody sees the reason without the close or the close without the reason
	return true
}
