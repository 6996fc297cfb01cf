package actors

import "sync"

// Ref is a reference to an actor. It is a small value; two are equal if they refer to the same
// actor. The zero value refers to no actor.
type Ref[M any] struct{ at *node }

// envelope is a message in a mailbox. It hides the message's own type from the actor library, to
// which some types have a special meaning.
type envelope struct{ message any }

// IgnoreDeadLetterLogging keeps the library from starting a goroutine and a ticker to log a message
// that comes too late.
func (*envelope) IgnoreDeadLetterLogging() {}

// envelopes are free: their messages were received.
var envelopes = sync.Pool{New: func() any { return new(envelope) }}

// Tell puts a message into the actor's mailbox. It never blocks. It returns false if the actor has
// ended, or is about to, and will not receive the message; true if it will, unless it is stopped
// first. An actor that is stopped goes on receiving until everything below it has ended.
func (r Ref[M]) Tell(m M) bool {
	if r.at == nil || r.at.halted.Load() {
		return false
	}
	e := envelopes.Get().(*envelope) //nolint:forcetypeassert // the pool has no others
	e.message = m
	library().Send(r.at.cell.pid, e)
	return true
}

// Stop stops everything below the actor, and then the actor. It does not wait, and may be called
// again.
func (r Ref[M]) Stop() { Scope(r).Stop() }

// Done returns a channel that the system closes when the actor has ended and its Spec.Ended has
// returned. For the zero value it is closed.
func (r Ref[M]) Done() <-chan struct{} { return Scope(r).Done() }

// Scope is a position in the tree below which actors are spawned. It is a small value; two are
// equal if they are the same position. The zero value is a stopped scope.
type Scope struct{ at *node }

// Group makes a scope below this one, without an actor: it receives no messages and cannot fail,
// and stopping it stops everything below it. [ErrStopped] if this scope is stopped.
func (sc Scope) Group(name, kind string) (Scope, error) {
	if sc.at == nil {
		return Scope{}, ErrStopped
	}
	n := newNode(sc.at.system, sc.at, name, kind)
	if !sc.at.adopt(n) {
		return Scope{}, ErrStopped
	}
	return Scope{n}, nil
}

// Tree returns what is at the scope and below it.
func (sc Scope) Tree() Node {
	if sc.at == nil {
		return Node{}
	}
	return sc.at.view()
}

// Stop stops everything below, and then the actor whose scope this is. It does not wait, and may be
// called again.
func (sc Scope) Stop() {
	if sc.at != nil {
		sc.at.stop()
	}
}

// Done returns a channel that the system closes when the scope was stopped, and everything below it
// and the actor whose scope it is have ended. For the zero value it is closed.
func (sc Scope) Done() <-chan struct{} {
	if sc.at == nil {
		return nowhere
	}
	return sc.at.done
}

// nowhere is the Done of a zero value.
var nowhere = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()
