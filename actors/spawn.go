package actors

import (
	"log/slog"

	"github.com/asynkron/protoactor-go/actor"
)

// Spec describes an actor that receives messages of type M.
type Spec[M any] struct {
	Name string // shown in the tree
	Kind string

	// New makes an incarnation: the first, and one after each panic. Its own panics count as the actor's.
	New func(self Self[M]) Receiver[M]

	// Ended, if not nil, is called exactly once, after the last incarnation: with nil when the actor was stopped, with an error that is [ErrGivenUp]
	// when it panicked too often.
	Ended func(cause error)
}

// Receiver is one incarnation's state and behaviour. It may have two further methods. Phase() string is read after each message and shown in the
// tree. Stopping(cause error) is called when the incarnation ends, with [ErrRestarting] or [ErrStopped].
type Receiver[M any] interface {
	Receive(m M)
}

// Self is what an incarnation knows of itself.
type Self[M any] interface {
	Ref() Ref[M]       // how to reach this actor
	Scope() Scope      // what is spawned below it stops with it, and lives through its restarts
	Incarnation() int  // 1, 2, 3…
	Log() *slog.Logger // the system's logger with the actor's name
}

// Spawn starts an actor. ErrStopped if the scope is stopped.
func Spawn[M any](in Scope, spec Spec[M]) (Ref[M], error) {
	s := in.at.system
	n := newNode(s, in.at, spec.Name, spec.Kind)
	ref := Ref[M]{n}
	c := &cell{node: n, ended: spec.Ended, over: make(chan struct{})}
	c.make = func(incarnation int) behaviour {
		r := spec.New(self[M]{ref: ref, incarnation: incarnation})
		b := behaviour{receive: func(m any) { r.Receive(m.(letter[M]).message) }}
		b.phase, _ = r.(interface{ Phase() string })
		b.stopping, _ = r.(interface{ Stopping(cause error) })
		return b
	}
	n.cell = c
	n.halt = c.halt
	c.mu.Lock() // until the name is known: the actor runs, and can be stopped, from here on
	defer c.mu.Unlock()
	if !in.at.adopt(n) {
		return Ref[M]{}, ErrStopped
	}
	c.pid = s.proto.Root.Spawn(actor.PropsFromProducer(func() actor.Actor { return c }, actor.WithGuardian((*supervisor)(s))))
	s.byID.Store(c.pid.Id, n)
	return ref, nil
}

// letter carries a message past the actor library, which gives some types a meaning of their own.
type letter[M any] struct{ message M }

type self[M any] struct {
	ref         Ref[M]
	incarnation int
}

func (s self[M]) Ref() Ref[M]      { return s.ref }
func (s self[M]) Scope() Scope     { return Scope(s.ref) }
func (s self[M]) Incarnation() int { return s.incarnation }
func (s self[M]) Log() *slog.Logger {
	return s.ref.at.system.log.With("actor", s.ref.at.name, "kind", s.ref.at.kind)
}
