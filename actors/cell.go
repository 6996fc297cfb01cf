package actors

import (
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/troupe-go/troupe/internal/stack"
)

// cell is an actor over all its incarnations. To the library it is one actor. The incarnations are
// created here, so that a panic of Spec.New has the same backoff as any other.
type cell struct {
	node  *node
	pid   *actor.PID // written before the first Ref is given out
	make  maker
	ended func(cause error)

	now incarnation // nil while there is none; touched by the actor's goroutine alone

	mu       sync.Mutex
	number   int // of the present incarnation, or of the last
	phase    string
	restarts int
	failures history
	restart  *time.Timer // under way after a panic; owned by the cell, stopped by halt
	halting  bool
	cause    error // why it is given up
}

// incarnation is a Receiver whose message type is forgotten.
type incarnation interface {
	receive(m any)
	phase() (string, bool)
	stopping(cause error)
}

// maker is a Spec.New whose message type is forgotten.
type maker interface {
	incarnate(n *node, number int) incarnation
}

// Receive is what the library calls, one message at a time.
func (c *cell) Receive(ctx actor.Context) {
	returned := false
	defer c.escalate(&returned)
	switch m := ctx.Message().(type) {
	case *actor.Started:
		c.begin()
	case *actor.Stopping:
		c.finish(ErrStopped)
	case *actor.Stopped:
		c.gone()
	case *envelope:
		if c.now != nil { // else it came between a panic and a stop, and is dropped with the rest of the mailbox
			inject()
			c.now.receive(m.message)
			c.show()
			m.message = nil
			envelopes.Put(m) // not after a panic: then the library has it still
		}
	}
	returned = true
}

// begin creates the next incarnation.
func (c *cell) begin() {
	c.mu.Lock()
	c.number++
	c.phase = ""
	number := c.number
	c.mu.Unlock()
	c.node.open()
	c.now = c.make.incarnate(c.node, number)
	c.show()
}

// show copies the phase to where the tree can read it.
func (c *cell) show() {
	phase, ok := c.now.phase()
	if !ok {
		return
	}
	c.mu.Lock()
	c.phase = phase
	c.mu.Unlock()
}

// finish ends the current incarnation, if there is one.
func (c *cell) finish(cause error) {
	now := c.now
	c.now = nil
	if now != nil {
		c.guard("stopping", func() { now.stopping(cause) })
	}
}

// halt ends the actor from outside. It is called once.
func (c *cell) halt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.halting = true // no restart is sent from here on: the library may have removed the actor
	if c.restart != nil {
		c.restart.Stop()
	}
	library().Stop(c.pid)
}

// gone is called when the library has removed the actor.
func (c *cell) gone() {
	c.mu.Lock()
	cause := c.cause
	c.mu.Unlock()
	if c.ended != nil {
		c.guard("ended", func() { c.ended(cause) })
	}
	c.node.gone()
}

func (c *cell) view() (phase string, restarts int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.phase, c.restarts
}

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
