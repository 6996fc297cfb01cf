package notify

import "sync"

// Stream gives each value to exactly one of the receivers that compete for it, in order, and loses
// none: values that are not received are handed back at the end.
type Stream[T any] struct {
	c        chan T
	bound    int
	received func(T)

	mu     sync.Mutex
	queue  []T   // values that were sent and not received, the one on offer first
	pump   *pump // nil while there is nothing to offer
	held   int   // how many calls of hold are waiting: no pump starts
	closed bool
}

// pump is the goroutine that offers the queue's values.
type pump struct {
	once  sync.Once
	quit  chan struct{}
	ended chan struct{}
}

// NewStream makes one that keeps at most bound values, and at least one.
func NewStream[T any](bound int) *Stream[T] { return NewTracedStream[T](bound, func(T) {}) }

// NewTracedStream is NewStream with a function that is called after each receive, one at a time,
// from the stream's own goroutine. It must not block.
func NewTracedStream[T any](bound int, received func(T)) *Stream[T] {
	return &Stream[T]{c: make(chan T), bound: max(bound, 1), received: received}
}

// C is the channel, the same every time. It closes with [Stream.Close].
func (s *Stream[T]) C() <-chan T { return s.c }

// Send puts a value behind the others. It never blocks; false means that there is no room, or that
// the stream is closed.
func (s *Stream[T]) Send(v T) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.queue) >= s.bound {
		return false
	}
	s.queue = append(s.queue, v)
	s.start()
	return true
}

// start starts the goroutine, if there is something to offer. With the mutex.
func (s *Stream[T]) start() {
	if s.pump != nil || s.held > 0 || s.closed || len(s.queue) == 0 {
		return
	}
	s.pump = &pump{quit: make(chan struct{}), ended: make(chan struct{})}
	go s.run(s.pump) // owned by the stream; ends when the queue is empty, or is about to be changed, or with Close
}

func (s *Stream[T]) run(p *pump) {
	defer close(p.ended)
	for v, ok := s.head(p); ok; v, ok = s.head(p) {
		select {
		case s.c <- v:
			s.taken()
			s.received(v)
		case <-p.quit:
			return
		}
	}
}

// head returns the value to offer. With none, the goroutine is to end, and the next Send starts
// another.
func (s *Stream[T]) head(p *pump) (v T, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		s.queue = nil
		if s.pump == p {
			s.pump = nil
		}
		return v, false
	}
	select {
	case <-p.quit: // before anything else: a receiver may be waiting, and is to get no value that is being withdrawn
		return v, false
	default:
		return s.queue[0], true
	}
}

func (s *Stream[T]) taken() {
	s.mu.Lock()
	defer s.mu.Unlock()
	var none T
	s.queue[0] = none // the receiver's alone now
	s.queue = s.queue[1:]
}

// hold stops the goroutine until the matching start, and waits until it has ended. With the mutex.
func (s *Stream[T]) hold() {
	s.held++
	p := s.pump
	s.mu.Unlock() // the goroutine needs it; held keeps a Send from starting another one
	if p != nil {
		p.once.Do(func() { close(p.quit) })
		<-p.ended // prompt: it has one of two ways to go, and takes it
	}
	s.mu.Lock()
	s.held--
	if s.pump == p {
		s.pump = nil
	}
}

// Withdraw takes back and returns the values that match and were not received yet: no receiver will
// get them.
func (s *Stream[T]) Withdraw(match func(T) bool) []T {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hold()
	var back, rest []T
	for _, v := range s.queue {
		if match(v) {
			back = append(back, v)
		} else {
			rest = append(rest, v)
		}
	}
	s.queue = rest
	s.start()
	return back
}

// Close ends the stream and returns the values that were not received and never will be. The second
// call returns nothing.
func (s *Stream[T]) Close() []T {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	s.hold()
	close(s.c) // no goroutine sends any more
	rest := s.queue
	s.queue = nil
	return rest
}
