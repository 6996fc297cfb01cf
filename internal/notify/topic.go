package notify

import (
	"context"
	"sync"
)

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
		return l.C()
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
