package actors

import "github.com/troupe-go/troupe/internal/stack"

// throughput is how many messages an actor processes in a row before it yields the processor; it is
// the library's own number.
const throughput = 300

// dispatcher starts a goroutine when there are messages for its actor and that has none, like the
// library's own, but with a stack that is large enough for actors.
type dispatcher struct {
	process func() // until the mailbox is empty
	run     func() // dispatch: made once, since each start would make it anew
}

// Schedule implements [actor.Dispatcher]. The library calls it when nothing of the actor runs.
func (d *dispatcher) Schedule(process func()) {
	d.process = process
	go d.run() // owned by the actor; ends when its mailbox is empty
}

// Throughput implements [actor.Dispatcher].
func (*dispatcher) Throughput() int { return throughput }

func (d *dispatcher) dispatch() {
	stack.Widen()
	ended := false
	defer func() {
		if !ended {
			go d.run() // runtime.Goexit took this goroutine; the mailbox goes on with another
		}
	}()
	d.process()
	ended = true
}
