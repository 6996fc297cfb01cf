package notify

// End is how something ended: once, with a reason that is there before the channel closes. The zero
// value has not ended, and costs no channel until somebody wants it.
type End struct {
	latch Latch
	err   error // under its mutex, so that nobody sees the reason without the close or the close without the reason
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
