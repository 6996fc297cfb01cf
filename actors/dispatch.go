package actors

import "github.com/troupe-go/troupe/internal/stack"

// dispatcher starts a goroutine when there are messages for an actor that has none, like the
// library's own, but with a stack that is large enough for actors.
type dispatcher struct{ run func() }

// Schedule implements [actor.Dispatcher]. process returns when the mailbox is empty.
func (d *dispatcher) Schedule(process func()) {
	if d.run == nil { // once: the mailbox is the same each time
		d.run = func() { d.dispatch(process) }
	}
	go d.run() // owned by the actor; ends when its mailbox is empty
}

// Throughput implements [actor.Dispatcher]: how many messages an actor processes in a row before it
// yields the processor. It is the library's own number.
func (*dispatcher) Throughput() int { return 300 }

func (d *dispatcher) dispatch(process func()) {
	stack.Widen()
	ended := false
	defer func() {
		if !ended {
			go d.run() // runtime.Goexit has ended this goroutine; another one goes on with the mailbox
		}
	}()
	process()
	ended = true
}
