package session

import (
	"context"
	"errors"
	"sync"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/internal/notify"
)

// shared is a watch that any number of readers share: one actor, and one watch in ZooKeeper. It
// lives as long as anybody reads it.
type shared[T any] struct {
	session *Session
	all     func(g *guarded) map[string]*shared[T] // of this kind, by path
	path    string
	spec    watchSpec[T]
	topic   *notify.Topic[T]
	readers int // under the session's mutex

	mu  sync.Mutex
	ref actors.Ref[watchMessage[T]]
}

// watchSpec is how a thing is looked at.
type watchSpec[T any] struct {
	name  string
	look  func(t *client, epoch uint64, path string, done func(state T, exists bool, err error)) // with a watch, if it exists
	stale func(state T) T
	same  func(a, b T) bool // nothing has happened between the two
}

// subscribe gives a reader its channel, and starts the watch if it is the first.
func subscribe[T any](ctx context.Context, s *Session, all func(g *guarded) map[string]*shared[T], path string, spec watchSpec[T]) <-chan T {
	if err := s.requests.ready(path); err != nil {
		s.log.Warn("nothing to watch", "path", s.Path(path), "error", err)
		nothing := notify.NewLatest[T]()
		nothing.Close()
		return nothing.C()
	}
	g := s.state.lock()
	w := all(g)[path]
	first := w == nil
	if first {
		w = &shared[T]{session: s, all: all, path: path, spec: spec, topic: notify.NewTopic[T]()}
		all(g)[path] = w
	}
	w.readers++
	g.unlock()
	states := w.topic.Subscribe(ctx, w.leave)
	if first {
		w.spawn()
	}
	return states
}

func (w *shared[T]) spawn() {
	w.mu.Lock()
	defer w.mu.Unlock()
	ref, err := actors.Spawn(w.session.scope, actors.Spec[watchMessage[T]]{
		Name: w.spec.name + ":" + w.path, Kind: "watch",
		New:   func(self actors.Self[watchMessage[T]]) actors.Receiver[watchMessage[T]] { return newWatcher(w, self) },
		Ended: w.ended,
	})
	if err != nil {
		w.ended(nil)
		return
	}
	w.ref = ref
}

// leave takes a reader off. With the last one the watch ends.
func (w *shared[T]) leave() {
	g := w.session.state.lock()
	w.readers--
	last := w.readers == 0
	if last && w.all(g)[w.path] == w {
		delete(w.all(g), w.path)
	}
	g.unlock()
	if last {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.ref.Stop()
	}
}

// ended closes what the readers have: the session is over, or the actor was given up.
func (w *shared[T]) ended(cause error) {
	s := w.session
	if errors.Is(cause, actors.ErrGivenUp) {
		s.log.Error("a watch is given up", "path", s.Path(w.path), "cause", cause)
	}
	g := s.state.lock()
	if w.all(g)[w.path] == w {
		delete(w.all(g), w.path)
	}
	g.unlock()
	w.topic.Close()
}
