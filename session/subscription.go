package session

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/seam"
	"github.com/troupe-go/troupe/machine"
)

// watchMessage is what the actor of a shared watch receives: it knows what the actor does with it.
// An answer to a request of an earlier incarnation, or of an earlier epoch, is dropped.
type watchMessage[T any] interface{ deliver(w *sharedWatchActor[T]) }

type (
	happened[T any] struct{ event seam.Event } // to the client
	wasRead[T any]  struct {                   // a read was answered
		of     *sharedWatchActor[T]
		epoch  uint64
		state  T
		exists bool
		err    error
	}
	awaited[T any] struct { // a missing znode is watched, or exists: see client.await
		of     *sharedWatchActor[T]
		epoch  uint64
		exists bool
		err    error
	}
	readAgain[T any] struct{ of *sharedWatchActor[T] } // after a pause
)

func (m happened[T]) deliver(w *sharedWatchActor[T]) { w.onEvent(m.event) }

func (m wasRead[T]) deliver(w *sharedWatchActor[T]) {
	if m.of == w && m.epoch == w.epoch {
		w.onRead(m)
	}
}

func (m awaited[T]) deliver(w *sharedWatchActor[T]) {
	if m.of == w && m.epoch == w.epoch {
		w.onAwaited(m)
	}
}

func (m readAgain[T]) deliver(w *sharedWatchActor[T]) {
	if m.of == w {
		w.read()
	}
}

// sharedWatchActor is one incarnation of a shared watch's actor. It reads and watches in one
// request, publishes what it sees, and reads again when the watch fires, and in each epoch. When
// the connection is back, what was seen is no longer stale: the servers tell at once what has
// changed. A state that it publishes is never older than the one before: servers see to that within
// an epoch, and an epoch begins with a sync.
type sharedWatchActor[T any] struct {
	watch  *sharedWatch[T]
	self   actors.Self[watchMessage[T]]
	client *client

	epoch uint64 // 0: none
	up    bool   // there is a connection
	// Its reads, one at a time.
	busy  bool // one is under way
	again bool // something happened meanwhile, so that another one follows
	tries int  // that failed, in a row
	turns int  // that found no znode, in a row, though it existed when its creation was to be watched
	// Its state.
	known bool // there is one
	seen  T    // as read
	last  T    // as published: seen, or that made stale
	stale bool // last is
}

func newSharedWatchActor[T any](of *sharedWatch[T], self actors.Self[watchMessage[T]]) *sharedWatchActor[T] {
	w := &sharedWatchActor[T]{watch: of, self: self}
	ref := self.Ref()
	// Each incarnation has a client of its own, so that it hears how things stand. A session that
	// is closed has none, and stops this actor.
	of.session.start()
	w.client, _ = of.session.newClient(of.spec.name+":"+of.path, func(n seam.Event) { ref.Tell(happened[T]{n}) })
	return w
}

// Receive implements [actors.Receiver].
func (w *sharedWatchActor[T]) Receive(m watchMessage[T]) { m.deliver(w) }

// Phase shows in the live tree.
func (w *sharedWatchActor[T]) Phase() string {
	switch {
	case !w.known:
		return "looking"
	case w.stale:
		return "stale"
	}
	return "watching"
}

// Stopping gives up the incarnation's client.
func (w *sharedWatchActor[T]) Stopping(error) {
	if w.client != nil {
		w.client.Leave()
	}
}

func (w *sharedWatchActor[T]) onEvent(n seam.Event) {
	switch n := n.(type) {
	case machine.EpochBegan:
		w.epoch, w.up, w.busy, w.again = n.Epoch, true, false, false
		w.read()
	case machine.Suspended:
		w.up = false
		w.growStale()
	case machine.Resumed:
		w.up = true
		if w.known && !w.busy && w.tries == 0 {
			w.publish(w.seen) // it is watched: the server tells what has changed meanwhile
		} else {
			w.read()
		}
	case seam.EpochEnded:
		w.epoch, w.up = 0, false
		w.growStale()
	case machine.Fired:
		w.read()
	}
}

// read reads with a watch; one at a time.
func (w *sharedWatchActor[T]) read() {
	switch {
	case w.epoch == 0:
	case w.busy:
		w.again = true
	default:
		w.busy, w.again = true, false
		epoch, ref := w.epoch, w.self.Ref()
		w.watch.spec.read(w.client, epoch, w.watch.path, func(state T, exists bool, err error) {
			ref.Tell(wasRead[T]{w, epoch, state, exists, err})
		})
	}
}

func (w *sharedWatchActor[T]) onRead(m wasRead[T]) {
	switch {
	case m.err != nil:
		w.fail(m.err)
	case m.exists:
		w.busy = false
		w.publish(m.state)
	default:
		epoch, ref := w.epoch, w.self.Ref()
		w.client.Await(epoch, w.watch.path, func(a seam.Seen) { ref.Tell(awaited[T]{w, epoch, a.Exists, a.Err}) })
	}
}

// onAwaited: the creation of a missing znode is watched, unless it was created meanwhile.
func (w *sharedWatchActor[T]) onAwaited(m awaited[T]) {
	w.busy = false
	switch {
	case m.err != nil:
		w.fail(m.err)
	case m.exists && w.turns < 2:
		w.turns++
		w.read()
	case m.exists:
		w.fail(errors.New("what is read is missing, and exists when it is looked for, again and again"))
	default:
		var nothing T
		w.publish(nothing)
	}
}

// fail reads again after a pause: an operator may remove the cause (a right that was taken away,
// say). Until then what was seen is stale.
func (w *sharedWatchActor[T]) fail(err error) {
	w.busy = false
	if errors.Is(err, ErrExpired) || errors.Is(err, ErrClosed) {
		return // the event that tells so follows
	}
	w.tries++
	if w.tries == 1 {
		w.watch.session.log.Warn("can't watch; trying again", "path", w.watch.session.Path(w.watch.path), "error", err)
	}
	w.growStale()
	s, ref, pause := w.watch.session, w.self.Ref(), backoff(w.watch.session.cfg.source, w.tries)
	s.tasks.run(func() {
		s.sender.pause(s.tasks.life, pause)
		ref.Tell(readAgain[T]{w})
	})
}

// publish takes the state that was read, and reads again if something happened since that read was
// sent.
func (w *sharedWatchActor[T]) publish(state T) {
	w.tries, w.turns, w.seen = 0, 0, state
	stale := !w.up
	if stale {
		state = w.watch.spec.stale(state)
	}
	if !w.known || w.stale != stale || !w.watch.spec.same(w.last, state) {
		w.known, w.stale, w.last = true, stale, state
		w.watch.topic.Publish(state)
	}
	if w.again {
		w.read()
	}
}

// growStale publishes the last state as stale.
func (w *sharedWatchActor[T]) growStale() {
	if w.known && !w.stale {
		w.stale, w.last = true, w.watch.spec.stale(w.last)
		w.watch.topic.Publish(w.last)
	}
}

// Data is the state of a znode at some moment. Receivers share Bytes and must not change them.
type Data struct {
	Exists bool   // false: there is no such znode, and Bytes and Stat are zero
	Bytes  []byte // its data
	Stat   Stat
	Stale  bool // the connection is down: so it was when last seen
}

// Children are the children of a znode at some moment. Receivers share Names and must not change
// them.
type Children struct {
	Exists bool     // false: there is no such znode, and Names and Stat are zero
	Names  []string // in no order; names, not paths
	Stat   Stat
	Stale  bool // the connection is down: so it was when last seen
}

// WatchData subscribes to a znode's data, its creation and its deletion: the present state first,
// then each newer one, which replaces one that was not received. States in between may be left out,
// the last one never is; a change that was made while the connection was down follows after it. The
// subscription goes on in the next epochs.
//
// All subscribers of a path share one watch, which ZooKeeper is told to remove when the last of
// them goes; servers before 3.5 cannot be told, and keep it until it fires or the epoch ends. The
// channel closes when ctx or the session ends; at once if the session is closed or the path is not
// valid; and early if the actor behind it failed too often, which the log says. If the ACL forbids
// to read the znode, it is tried again, and a state that was seen before is published as Stale.
func (s *Session) WatchData(ctx context.Context, path string) <-chan Data {
	return subscribe(ctx, s, func(g *guarded) map[string]*sharedWatch[Data] { return g.dataWatches }, path, watchSpec[Data]{
		name: "data",
		read: func(t *client, epoch uint64, path string, done func(Data, bool, error)) {
			t.Read(epoch, path, true, func(a seam.Seen) { done(Data{Exists: a.Exists, Bytes: a.Data, Stat: Stat(a.Stat)}, a.Exists, a.Err) })
		},
		stale: func(d Data) Data {
			d.Stale = true
			return d
		},
		// Versions begin anew when a znode is deleted and made again. Transactions don't, but when
		// the servers have lost their data others get the same numbers.
		same: func(a, b Data) bool {
			return a.Exists == b.Exists && a.Stat.Mzxid == b.Stat.Mzxid && bytes.Equal(a.Bytes, b.Bytes)
		},
	})
}

// WatchChildren subscribes to the names of a znode's children, its creation and its deletion, in
// everything else like [Session.WatchData].
func (s *Session) WatchChildren(ctx context.Context, path string) <-chan Children {
	return subscribe(ctx, s, func(g *guarded) map[string]*sharedWatch[Children] { return g.childWatches }, path, watchSpec[Children]{
		name: "children",
		read: func(t *client, epoch uint64, path string, done func(Children, bool, error)) {
			t.List(epoch, path, true, func(a seam.Listed) {
				missing := errors.Is(a.Err, ErrNoNode)
				if missing {
					a.Err = nil
				}
				done(Children{Exists: !missing, Names: a.Names, Stat: Stat(a.Stat)}, !missing, a.Err)
			})
		},
		stale: func(c Children) Children {
			c.Stale = true
			return c
		},
		same: func(a, b Children) bool {
			return a.Exists == b.Exists && a.Stat.Czxid == b.Stat.Czxid && a.Stat.Pzxid == b.Stat.Pzxid && slices.Equal(slices.Sorted(slices.Values(a.Names)), slices.Sorted(slices.Values(b.Names)))
		},
	})
}

// sharedWatch is a watch that any number of readers share: one actor, and one watch in ZooKeeper.
// It lives as long as it has a reader.
type sharedWatch[T any] struct {
	session *Session
	all     func(g *guarded) map[string]*sharedWatch[T] // of this kind, by path
	path    string
	spec    watchSpec[T]
	topic   *notify.Topic[T]
	readers int // under the session's mutex

	mu  sync.Mutex // held while the actor is made, and guards ref
	ref actors.Ref[watchMessage[T]]
}

// watchSpec tells the kinds of shared watches apart: what is read, and when that has changed.
type watchSpec[T any] struct {
	name  string
	read  func(t *client, epoch uint64, path string, done func(state T, exists bool, err error)) // with a watch, if it exists
	stale func(state T) T                                                                        // marks it
	same  func(a, b T) bool                                                                      // nothing has happened between the two
}

// subscribe gives a reader its channel, and starts the watch if it is the first.
func subscribe[T any](ctx context.Context, s *Session, all func(g *guarded) map[string]*sharedWatch[T], path string, spec watchSpec[T]) <-chan T {
	if err := s.sender.ready(path); err != nil {
		s.log.Warn("nothing to watch", "path", s.Path(path), "error", err)
		nothing := notify.NewLatest[T]()
		nothing.Close()
		return nothing.C()
	}
	g := s.state.lock()
	w := all(g)[path]
	first := w == nil
	if first {
		w = &sharedWatch[T]{session: s, all: all, path: path, spec: spec, topic: notify.NewTopic[T]()}
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

func (w *sharedWatch[T]) spawn() {
	w.mu.Lock()
	defer w.mu.Unlock()
	ref, err := actors.Spawn(w.session.scope, actors.Spec[watchMessage[T]]{
		Name: w.spec.name + ":" + w.path, Kind: "watch",
		New: func(self actors.Self[watchMessage[T]]) actors.Receiver[watchMessage[T]] {
			return newSharedWatchActor(w, self)
		},
		Ended: w.ended,
	})
	if err != nil {
		w.ended(nil)
		return
	}
	w.ref = ref
}

// leave takes a reader off. With the last one the watch ends.
func (w *sharedWatch[T]) leave() {
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
func (w *sharedWatch[T]) ended(cause error) {
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
