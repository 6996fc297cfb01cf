package actors

import (
	"errors"
	"log/slog"
)

// Spec describes an actor that receives messages of type M.
type Spec[M any] struct {
	Name string // shown in the tree; need not be unique
	Kind string // shown in the tree

	// New creates an incarnation with fresh state: the first, and one after each panic. It runs on
	// the actor's goroutine, and its own panics count as the actor's.
	New func(self Self[M]) Receiver[M]

	// Ended, if not nil, is called exactly once, after the last incarnation: with nil if the actor
	// was stopped, with [ErrGivenUp] and the value of the last panic if it panicked too often. A
	// panic in Ended is logged, and has no other effect.
	Ended func(cause error)
}

// Receiver is the state and behaviour of one incarnation of an actor. It may have two further
// methods.
//
// Phase() string is read after New and after each message, and shown in the tree.
//
// Stopping(cause error) is called when the incarnation ends, also by a panic: with [ErrRestarting]
// if another one follows, otherwise with [ErrStopped]. A panic in it is logged, and has no other
// effect.
type Receiver[M any] interface {
	// Receive is called with one message at a time. It must not block: nothing else is received
	// meanwhile.
	Receive(m M)
}

// Self gives an incarnation access to its actor.
type Self[M any] interface {
	Ref() Ref[M]       // how to reach this actor, over all its incarnations
	Scope() Scope      // actors below it stop with this incarnation; put those that must live on into a Group beside it
	Incarnation() int  // 1, 2, 3…
	Log() *slog.Logger // the system's logger with the actor's name and kind
}

// Spawn starts an actor. [ErrStopped] if the scope is stopped, or belongs to an actor that has
// panicked and is not restarted yet. A spec without New is
// refused.
func Spawn[M any](in Scope, spec Spec[M]) (Ref[M], error) {
	if spec.New == nil {
		return Ref[M]{}, errors.New("spawn " + spec.Name + ": Spec.New is nil")
	}
	if in.at == nil {
		return Ref[M]{}, ErrStopped
	}
	n := newNode(in.at.system, in.at, spec.Name, spec.Kind)
	n.cell = &cell{node: n, make: plan[M](spec.New), ended: spec.Ended}
	if !in.at.system.start(in.at, n) {
		return Ref[M]{}, ErrStopped
	}
	return Ref[M]{n}, nil
}

// plan creates incarnations that receive messages of type M.
type plan[M any] func(self Self[M]) Receiver[M]

func (p plan[M]) incarnate(n *node, number int) incarnation {
	return typed[M]{p(self[M]{at: n, number: number})}
}

// typed is an incarnation whose messages are of type M.
type typed[M any] struct{ receiver Receiver[M] }

func (t typed[M]) receive(m any) {
	message, _ := m.(M) // a Ref sends no other type; nil is the zero M
	t.receiver.Receive(message)
}

func (t typed[M]) phase() (string, bool) {
	if r, ok := t.receiver.(interface{ Phase() string }); ok {
		return r.Phase(), true
	}
	return "", false
}

func (t typed[M]) stopping(cause error) {
	if r, ok := t.receiver.(interface{ Stopping(cause error) }); ok {
		r.Stopping(cause)
	}
}

type self[M any] struct {
	at     *node
	number int
}

func (s self[M]) Ref() Ref[M]       { return Ref[M]{s.at} }
func (s self[M]) Scope() Scope      { return Scope{s.at} }
func (s self[M]) Incarnation() int  { return s.number }
func (s self[M]) Log() *slog.Logger { return s.at.log() }
