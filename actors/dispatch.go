package actors

import (
	"github.com/asynkron/protoactor-go/actor"

	"github.com/troupe-go/troupe/internal/stack"
)

// throughput is how many messages an actor processes in a row before it yields the processor; it is
// the library's own number.
const throughput = 300

// dispatcher starts a goroutine when there are messages for an actor that has none, like the
// library's own, but with a stack that is large enough for actors.
type dispatcher struct{}

var _ actor.Dispatcher = dispatcher{}

// Schedule implements [actor.Dispatcher].
func (dispatcher) Schedule(f func()) { go dispatch(f) } // owned by the actor; ends when its mailbox is empty

// Throughput implements [actor.Dispatcher].
func (dispatcher) Throughput() int { return throughput }

func dispatch(f func()) {
	stack.Widen()
	ended := false
	defer func() {
		if !ended {
			go dispatch(f) // runtime.Goexit took this goroutine; the mailbox goes on with another
		}
	}()
	f()
	ended = true
}
