package actors

import (
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// failure carries a panic through the library to the supervisor, with the actor that panicked.
type failure struct {
	of     *cell
	reason any
}

// String is for the library, which logs the recovered value.
func (f failure) String() string { return fmt.Sprint(f.reason) }

// errGoexit is the end of an incarnation that called runtime.Goexit, as a failed assertion of
// package testing does.
var errGoexit = errors.New("runtime.Goexit was called")

// escalate is deferred around each call of an actor's code. A function that neither panics nor
// returns has called runtime.Goexit. escalate panics in its place; the Goexit continues once that
// panic is recovered, and dispatch handles the rest.
func (c *cell) escalate(returned *bool) {
	reason := recover()
	if reason == nil {
		if *returned {
			return
		}
		reason = errGoexit
	}
	c.report("handling a message", reason)
	panic(failure{c, reason}) // the library suspends the mailbox and calls the supervisor
}

// guard calls a function whose panic must not spread: it is logged. It runs in a goroutine of its
// own, since a runtime.Goexit can't be stopped.
func (c *cell) guard(what string, f func()) {
	done := make(chan struct{})
	go func() { // owned by this call, which waits for it
		returned := false
		defer close(done)
		defer func() {
			reason := recover()
			if reason == nil && !returned {
				reason = errGoexit
			}
			if reason != nil {
				c.report(what, reason)
			}
		}()
		f()
		returned = true
	}()
	<-done
}

// report logs a panic. A panic of the logger itself is ignored.
func (c *cell) report(what string, reason any) {
	defer func() { _ = recover() }()
	c.node.log().Error("an actor panicked", "while", what, "panic", fmt.Sprint(reason), "stack", string(debug.Stack()))
}

// fail decides what follows a panic. It runs on the actor's goroutine, with the mailbox suspended;
// again restarts the actor.
func (c *cell) fail(reason any, again func()) {
	c.mu.Lock()
	c.phase = "failed"
	pause, restarting := c.failures.next(c.node.system.restarts, time.Now())
	if !restarting {
		c.cause = fmt.Errorf("%w: %v", ErrGivenUp, reason)
		if err, ok := reason.(error); ok {
			c.cause = fmt.Errorf("%w: %w", ErrGivenUp, err)
		}
	}
	c.mu.Unlock()
	if !restarting || c.node.isStopping() {
		c.finish(ErrStopped)
		c.node.stop()
		return
	}
	c.finish(ErrRestarting)
	c.node.clear(func() { c.rest(pause, again) })
}

// rest restarts the actor after a pause.
func (c *cell) rest(pause time.Duration, again func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.halting {
		return
	}
	c.restart = time.AfterFunc(pause, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.halting {
			return
		}
		c.restart = nil
		c.restarts++
		again() // only puts a message into the mailbox
	})
}
