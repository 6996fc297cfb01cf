package session

import (
	"errors"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/internal/seam"
	"github.com/troupe-go/troupe/machine"
)

// watchMessage is what the actor of a shared watch receives: it knows what the actor does with it.
type watchMessage[T any] interface{ deliver(w *watcher[T]) }

type (
	happened[T any] struct{ event seam.Event }
	looked[T any]   struct { // what came of looking
		of     *watcher[T]
		epoch  uint64
		state  T
		exists bool
		err    error
	}
	awaited[T any] struct { // what came of waiting for a znode that was missing
		of     *watcher[T]
		epoch  uint64
		exists bool
		err    error
	}
	lookAgain[T any] struct{ of *watcher[T] } // after a pause
)

func (m happened[T]) deliver(w *watcher[T]) { w.onEvent(m.event) }

func (m looked[T]) deliver(w *watcher[T]) {
	if m.of == w && m.epoch == w.epoch {
		w.onLooked(m)
	}
}

func (m awaited[T]) deliver(w *watcher[T]) {
	if m.of == w && m.epoch == w.epoch {
		w.onAwaited(m)
	}
}

func (m lookAgain[T]) deliver(w *watcher[T]) {
	if m.of == w {
		w.look()
	}
}

// watcher is one incarnation of a shared watch's actor. It looks and watches in one request,
// publishes what it sees, and looks again when the watch fires, and in each epoch. When the
// connection is back, what was seen is no longer stale: the servers tell at once what has
// changed. What it sees never goes back: within an epoch servers see to that, and an epoch begins
// with a sync.
type watcher[T any] struct {
	*shared[T]
	self   actors.Self[watchMessage[T]]
	client *client

	epoch uint64
	up    bool
	busy  bool // looking
	again bool // something happened meanwhile
	tries int  // failures in a row
	turns int  // in which it was missing when it was read, and there when that was to be watched

	known bool
	seen  T // as read
	last  T // as published
	stale bool
}

func newWatcher[T any](of *shared[T], self actors.Self[watchMessage[T]]) *watcher[T] {
	w := &watcher[T]{shared: of, self: self}
	ref := self.Ref()
	// Each incarnation has a client of its own, so that it hears how things stand. A session that
	// is closed has none, and stops this actor.
	of.session.Start()
	w.client, _ = of.session.newClient(of.spec.name+":"+of.path, func(n seam.Event) { ref.Tell(happened[T]{n}) })
	return w
}

// Receive implements [actors.Receiver].
func (w *watcher[T]) Receive(m watchMessage[T]) { m.deliver(w) }

// Phase shows in the live tree.
func (w *watcher[T]) Phase() string {
	switch {
	case !w.known:
		return "looking"
	case w.stale:
		return "stale"
	}
	return "watching"
}

// Stopping gives up the incarnation's client.
func (w *watcher[T]) Stopping(error) {
	if w.client != nil {
		w.client.Leave()
	}
}

func (w *watcher[T]) onEvent(n seam.Event) {
	switch n := n.(type) {
	case machine.EpochBegan:
		w.epoch, w.up, w.busy, w.again = n.Epoch, true, false, false
		w.look()
	case machine.Suspended:
		w.up = false
		w.grow()
	case machine.Resumed:
		w.up = true
		if w.known && !w.busy && w.tries == 0 {
			w.publish(w.seen) // it is watched: the server tells what has changed meanwhile
		} else {
			w.look()
		}
	case seam.EpochEnded:
		w.epoch, w.up = 0, false
		w.grow()
	case machine.Fired:
		w.look()
	}
}

// look reads with a watch; one at a time.
func (w *watcher[T]) look() {
	switch {
	case w.epoch == 0:
	case w.busy:
		w.again = true
	default:
		w.busy, w.again = true, false
		epoch, ref := w.epoch, w.self.Ref()
		w.spec.look(w.client, epoch, w.path, func(state T, exists bool, err error) {
			ref.Tell(looked[T]{w, epoch, state, exists, err})
		})
	}
}

func (w *watcher[T]) onLooked(m looked[T]) {
	switch {
	case m.err != nil:
		w.fail(m.err)
	case m.exists:
		w.busy = false
		w.publish(m.state)
	default:
		epoch, ref := w.epoch, w.self.Ref()
		w.client.await(epoch, w.path, func(exists bool, err error) { ref.Tell(awaited[T]{w, epoch, exists, err}) })
	}
}

// onAwaited: the creation of a missing znode is watched, unless it was created meanwhile.
func (w *watcher[T]) onAwaited(m awaited[T]) {
	w.busy = false
	switch {
	case m.err != nil:
		w.fail(m.err)
	case m.exists && w.turns < 2:
		w.turns++
		w.look()
	case m.exists:
		w.fail(errors.New("what is read is missing, and exists when it is looked for, again and again"))
	default:
		var nothing T
		w.publish(nothing)
	}
}

// fail looks again after a pause: whatever it is (a right that was taken away, say), somebody may
// put it right. Until then what was seen is stale.
func (w *watcher[T]) fail(err error) {
	w.busy = false
	if errors.Is(err, ErrExpired) || errors.Is(err, ErrClosed) {
		return // word of that is on its way
	}
	w.tries++
	if w.tries == 1 {
		w.session.log.Warn("can't watch; trying again", "path", w.session.Path(w.path), "error", err)
	}
	w.grow()
	s, ref, pause := w.session, w.self.Ref(), backoff(w.tries)
	s.tasks.run(func() {
		s.requests.pause(s.tasks.life, pause)
		ref.Tell(lookAgain[T]{w})
	})
}

// publish takes what was seen, and looks again if something happened since it was asked for.
func (w *watcher[T]) publish(state T) {
	w.tries, w.turns, w.seen = 0, 0, state
	stale := !w.up
	if stale {
		state = w.spec.stale(state)
	}
	if !w.known || w.stale != stale || !w.spec.same(w.last, state) {
		w.known, w.stale, w.last = true, stale, state
		w.topic.Publish(state)
	}
	if w.again {
		w.look()
	}
}

// grow lets what was seen grow stale.
func (w *watcher[T]) grow() {
	if w.known && !w.stale {
		w.stale, w.last = true, w.spec.stale(w.last)
		w.topic.Publish(w.last)
	}
}
