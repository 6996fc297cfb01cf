package actors

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"
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
	c.node.empty(func() { c.rest(pause, again) })
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

// supervisor is the actor library's strategy after a panic.
type supervisor struct{}

// HandleFailure implements [actor.SupervisorStrategy]. The library calls it on the goroutine of the
// actor that panicked.
func (*supervisor) HandleFailure(_ *actor.ActorSystem, by actor.Supervisor, child *actor.PID, _ *actor.RestartStatistics, reason, _ any) {
	if f, ok := reason.(failure); ok { // there are no others: all code of an actor runs within cell.Receive
		f.of.fail(f.reason, func() { by.RestartChildren(child) })
	}
}

// Restarts says how often an actor that panics is restarted, and after what pauses. A field that is
// zero has its default.
type Restarts struct {
	Min    time.Duration // the pause after the first panic, 10 ms by default; doubled with each further one
	Max    time.Duration // the longest pause, 5 s by default
	Limit  int           // more panics than this, 10 by default …
	Within time.Duration // … in this time, a minute by default, and the actor is given up
}

func (r Restarts) orDefaults() Restarts {
	r.Min = cmp.Or(r.Min, 10*time.Millisecond)
	r.Max = max(r.Min, cmp.Or(r.Max, 5*time.Second))
	r.Limit = cmp.Or(r.Limit, 10)
	r.Within = cmp.Or(r.Within, time.Minute)
	return r
}

// history are the times of an actor's panics, as far back as they matter.
type history []time.Time

// next adds a panic and returns the pause before the restart; false if there is none.
func (h *history) next(r Restarts, now time.Time) (time.Duration, bool) {
	*h = slices.DeleteFunc(*h, func(t time.Time) bool { return now.Sub(t) >= r.Within })
	*h = append(*h, now)
	if len(*h) > r.Limit {
		return 0, false
	}
	pause := r.Min
	for range len(*h) - 1 {
		if pause >= r.Max-pause { // twice as long would be too long
			pause = r.Max
			break
		}
		pause *= 2
	}
	return pause/2 + rand.N(pause-pause/2+1), true // half of it is jitter, so that actors that panicked together do not restart together
}
