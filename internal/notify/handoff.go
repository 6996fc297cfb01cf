package notify

import "sync"

// Handoff gives each value to exactly one receiver.
type Handoff[T any] struct{ c chan T }

// NewHandoff makes one with nothing on offer.
func NewHandoff[T any]() *Handoff[T] { return &Handoff[T]{c: make(chan T)} }

// C is the channel, the same every time. It never closes.
func (h *Handoff[T]) C() <-chan T { return h.c }

// Offer is a value that waits for its receiver.
type Offer[T any] struct {
	once     sync.Once
	withdraw chan struct{}
	gone     chan struct{} // the goroutine has ended
	received bool          // written before gone closes
}

// Offer puts a value on offer until it is received or withdrawn. taken, if not nil, is called once after a receive, from the offer's own goroutine.
func (h *Handoff[T]) Offer(v T, taken func()) *Offer[T] {
	o := &Offer[T]{withdraw: make(chan struct{}), gone: make(chan struct{})}
	go func() { // owned by the offer; ends with the receive or the withdrawal
		select {
		case <-o.withdraw: // a withdrawn offer is never received, even if a receiver waits already
			close(o.gone)
			return
		default:
		}
		select {
		case h.c <- v:
			o.received = true
			close(o.gone)
			if taken != nil {
				taken()
			}
		case <-o.withdraw:
			close(o.gone)
		}
	}()
	return o
}

// Withdraw takes the value back. True means that nobody has received it and nobody will; false that somebody has.
func (o *Offer[T]) Withdraw() bool {
	o.once.Do(func() { close(o.withdraw) })
	<-o.gone // prompt: one of the two cases is ready
	return !o.received
}
