package notify

import "sync"

// Handoff gives each value to exactly one receiver.
type Handoff[T any] struct{ c chan T }

// NewHandoff makes one with nothing on offer.
func NewHandoff[T any]() *Handoff[T] { return &Handoff[T]{c: make(chan T)} }

// C is the channel, the same every time. It never closes, so that no receiver gets a value that was
// never offered.
func (h *Handoff[T]) C() <-chan T { return h.c }

// Offer is a value that waits for its receiver.
type Offer[T any] struct {
	once     sync.Once
	withdraw chan struct{}
	asked    chan struct{} // received as long as the value waits
	decided  chan struct{} // closes when the value is received or withdrawn
	received bool          // which of the two; written before
}

// Offer puts a value on offer until it is received or withdrawn. taken, if not nil, is called once
// after a receive, from the offer's own goroutine: perhaps only after a Withdraw that came too late
// has returned. There may be several offers; a receiver gets any of them.
func (h *Handoff[T]) Offer(v T, taken func()) *Offer[T] {
	o := &Offer[T]{withdraw: make(chan struct{}), asked: make(chan struct{}), decided: make(chan struct{})}
	go func() { // owned by the offer; ends with the receive or the withdrawal
		select {
		case <-o.withdraw: // before anything else: a receiver may be waiting, and is to get no value that is already taken back
		default:
			for waits := true; waits; {
				select {
				case h.c <- v:
					o.received, waits = true, false
				case <-o.withdraw:
					waits = false
				case <-o.asked:
				}
			}
		}
		close(o.decided)
		if o.received && taken != nil {
			taken()
		}
	}()
	return o
}

// Withdraw takes the value back. True means that no receiver has got it or ever will; false that
// one has. It may be called again, and says the same.
func (o *Offer[T]) Withdraw() bool {
	o.once.Do(func() { close(o.withdraw) })
	<-o.decided // prompt: one of the two is possible from here on
	return !o.received
}

// Received tells whether a receiver has got the value, also before the offer's own goroutine knows.
func (o *Offer[T]) Received() bool {
	select {
	case o.asked <- struct{}{}:
		return false
	case <-o.decided:
		return o.received
	}
}
