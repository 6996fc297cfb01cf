package notify

import "sync"

// Stream gives each value to exactly one of the receivers that compete for it, in order, and loses none: what is not received is handed back at the end.
type Stream[T any] struct {
	c     chan T
	bound int
	quit  chan struct{}

	mu     sync.Mutex
	queue  []T           // what was sent and not received, the value on offer first
	pump   chan struct{} // closes when the goroutine that offers the queue's values has ended; nil while there is none
	closed bool
}

// NewStream makes one that keeps at most bound values, and at least one.
func NewStream[T any](bound int) *Stream[T] {
	return &Stream[T]{c: make(chan T), bound: max(bound, 1), quit: make(chan struct{})}
}

// C is the channel, the same every time. It closes with [Stream.Close].
func (s *Stream[T]) C() <-chan T { return s.c }

// Send puts a value behind those that wait. It never blocks; false means that there is no room, or that the stream is closed.
func (s *Stream[T]) Send(v T) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.queue) >= s.bound {
		return false
	}
	s.queue = append(s.queue, v)
	if s.pump == nil {
		s.pump = make(chan struct{})
		go s.run(s.pump) // owned by the stream; ends when the queue is empty, or with Close
	}
	return true
}

func (s *Stream[T]) run(ended chan struct{}) {
	defer close(ended)
	for v, ok := s.head(); ok; v, ok = s.head() {
		select {
		case s.c <- v:
			s.received()
		case <-s.quit:
			return
		}
	}
}

// head returns the value to offer. With none, the goroutine is to end, and the next Send starts another.
func (s *Stream[T]) head() (v T, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		s.queue, s.pump = nil, nil
	}
	if len(s.queue) == 0 || s.closed {
		return v, false
	}
	return s.queue[0], true
}

func (s *Stream[T]) received() {
	s.mu.Lock()
	defer s.mu.Unlock()
	var none T
	s.queue[0] = none // the receiver's alone now
	s.queue = s.queue[1:]
}

// Close ends the stream and returns what was not received and never will be. The second call returns nothing.
func (s *Stream[T]) Close() []T {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	pump := s.pump
	s.mu.Unlock()
	close(s.quit)
	if pump != nil {
		<-pump // prompt: it has one of two ways to go, and takes it
	}
	close(s.c) // nobody sends any more
	s.mu.Lock()
	defer s.mu.Unlock()
	rest := s.queue
	s.queue = nil
	return rest
}
