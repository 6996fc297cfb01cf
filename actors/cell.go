package actors

import (
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// behaviour is an incarnation with its message type forgotten.
type behaviour struct {
	receive  func(m any)
	phase    interface{ Phase() string }
	stopping interface{ Stopping(cause error) }
}

// cell is an actor over all its incarnations. The library restarts it as a whole; it makes the incarnations itself.
type cell struct {
	node  *node
	make  func(incarnation int) behaviour
	ended func(cause error)

	now  behaviour // touched by the actor alone
	live bool

	mu          sync.Mutex
	pid         *actor.PID
	incarnation int
	over        chan struct{} // closed when the present incarnation, or the next if none is, has ended
	phase       string
	failures    history
	restarts    int
	restart     *time.Timer // under way after a panic
	cause       error       // why it is given up
}

// Receive is what the library calls, one message at a time.
func (c *cell) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Started:
		c.begin()
	case *actor.Restarting:
		// The incarnation ended when it failed: see fail.
	case *actor.Stopping:
		c.end(ErrStopped)
	case *actor.Stopped:
		c.gone()
	case *actor.Terminated, *actor.ReceiveTimeout:
		// None of ours: actors do not watch each other here.
	default:
		c.now.receive(m)
		c.show()
	}
}

func (c *cell) begin() {
	c.mu.Lock()
	c.incarnation++
	incarnation := c.incarnation
	c.phase = ""
	c.mu.Unlock()
	c.now = c.make(incarnation)
	c.live = true
	c.show()
}

func (c *cell) show() {
	if c.now.phase == nil {
		return
	}
	phase := c.now.phase.Phase()
	c.mu.Lock()
	c.phase = phase
	c.mu.Unlock()
}

// end closes an incarnation. A panic in its Stopping is logged and goes no further.
func (c *cell) end(cause error) {
	defer func() {
		if p := recover(); p != nil {
			c.log("panic while stopping", p)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		close(c.over)
		c.over = make(chan struct{}) // what is told from now on is for the next incarnation
	}()
	was := c.live
	c.live = false
	if was && c.now.stopping != nil {
		c.now.stopping.Stopping(cause)
	}
}

// gone: the library has let go of the actor.
func (c *cell) gone() {
	c.node.system.byID.Delete(c.pid.Id)
	c.now = behaviour{}
	defer c.node.gone()
	defer func() {
		if p := recover(); p != nil {
			c.log("panic in Ended", p)
		}
	}()
	if c.ended != nil {
		c.mu.Lock()
		cause := c.cause
		c.mu.Unlock()
		c.ended(cause)
	}
}

// halt ends the actor from outside.
func (c *cell) halt() {
	c.mu.Lock()
	if c.restart != nil {
		c.restart.Stop()
	}
	pid := c.pid
	c.mu.Unlock()
	c.node.system.proto.Root.Stop(pid)
}

// fail is called after a panic, still on the goroutine that panicked; the mailbox is suspended.
func (c *cell) fail(reason any, again func()) {
	c.log("panic", reason)
	c.end(ErrRestarting)
	c.mu.Lock()
	pause, goOn := c.failures.next(c.node.system.restarts, time.Now())
	c.phase = "failed"
	if goOn {
		c.restarts++
		c.restart = time.AfterFunc(pause, func() { // owned by the cell, stopped by halt
			if !c.node.stopped() {
				again()
			}
		})
	} else {
		c.cause = fmt.Errorf("%w: %v", ErrGivenUp, reason)
		if err, ok := reason.(error); ok {
			c.cause = fmt.Errorf("%w: %w", ErrGivenUp, err)
		}
	}
	c.mu.Unlock()
	if !goOn {
		c.node.stop()
	}
}

func (c *cell) log(what string, reason any) {
	c.node.system.log.Error(what, "actor", c.node.name, "kind", c.node.kind, "panic", fmt.Sprint(reason), "stack", string(debug.Stack()))
}

func (c *cell) view() (phase string, restarts int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.phase, c.restarts
}
