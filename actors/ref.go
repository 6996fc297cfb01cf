package actors

// Ref is how an actor is reached. It is a small value; two are equal if they reach the same actor.
// The zero value reaches nobody.
type Ref[M any] struct{ at *node }

// envelope is a message on its way. It hides the message's own type from the actor library, which
// gives some types a meaning of their own.
type envelope interface {
	IgnoreDeadLetterLogging() // asks the library not to make a fuss, with a goroutine and a ticker, about one that comes too late
}

type letter[M any] struct{ message M }

// IgnoreDeadLetterLogging is for the library.
func (letter[M]) IgnoreDeadLetterLogging() {}

// Tell puts a message into the actor's mailbox. It never waits. False means that the actor is gone,
// or about to be, and will not receive it; true that it will, unless it is stopped first. An actor
// that is stopped goes on receiving until everything below it has ended.
func (r Ref[M]) Tell(m M) bool { return r.send(letter[M]{m}) }

func (r Ref[M]) send(e envelope) bool {
	if r.at == nil || r.at.halted.Load() {
		return false
	}
	r.at.system.proto.Root.Send(r.at.cell.pid, e)
	return true
}

// Stop ends the actor after everything below it. It does not wait, and may be called again.
func (r Ref[M]) Stop() { Scope(r).Stop() }

// Done closes when the actor has ended and its Spec.Ended has returned. That of the zero value is
// closed.
func (r Ref[M]) Done() <-chan struct{} { return Scope(r).Done() }
