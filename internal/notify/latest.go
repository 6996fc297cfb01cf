package notify

import (
	"context"
	"sync"
)

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

// Finite is a stream of at most a known number of values, each received once, by the receiver that
// comes first. It has room for all of them, so that it needs no goroutine, and values that were
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

// Topic is a state with any number of readers, each with a Latest of its own. The zero value is
// usable.
type Topic[T any] struct {
	mu     sync.Mutex
	has    bool
	state  T
	subs   map[*Latest[T]]func() bool // and how to stop watching its context
	closed bool
}

// NewTopic makes one without a state yet.
func NewTopic[T any]() *Topic[T] { return &Topic[T]{} }

// Publish replaces the state, for every reader.
func (t *Topic[T]) Publish(v T) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	t.state, t.has = v, true
	for l := range t.subs {
		l.Publish(v)
	}
}

// Subscribe returns a channel with the present state, if there is one, and then each newer one. It
// closes when ctx or the topic ends; a topic that has ended gives its last state and closes. left,
// if there is one, is called when ctx has ended, unless the topic had.
func (t *Topic[T]) Subscribe(ctx context.Context, left ...func()) <-chan T {
	l := NewLatest[T]()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.has {
		l.Publish(t.state)
	}
	if t.closed || ctx.Err() != nil {
		l.Close()
	}
	if t.closed || ctx.Err() != nil && left == nil {
		return l.C() // there is nothing to watch; left is to be called also if ctx has ended already
	}
	if t.subs == nil {
		t.subs = make(map[*Latest[T]]func() bool)
	}
	t.subs[l] = context.AfterFunc(ctx, func() {
		t.drop(l)
		for _, f := range left {
			f()
		}
	})
	return l.C()
}

func (t *Topic[T]) drop(l *Latest[T]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.subs, l)
	if len(t.subs) == 0 {
		t.subs = nil // most topics have no readers most of the time
	}
	l.Close()
}

// Len tells how many readers there are.
func (t *Topic[T]) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.subs)
}

// Close ends the topic and every subscription.
func (t *Topic[T]) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	for l, stop := range t.subs {
		stop()
		l.Close()
	}
	t.subs = nil
}
