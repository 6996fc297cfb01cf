package session

import (
	"context"
	"sync"
	"time"

	"github.com/troupe-go/troupe/internal/stack"
	"github.com/troupe-go/troupe/session/internal/lease"
)

// tasks are the goroutines of a session. Each is a request on its way, or the reaction to a timer;
// each ends with the connection that it waits for or with the session, and the session's end waits
// for all of them.
type tasks struct {
	life    context.Context // ends with the session
	cut     context.CancelFunc
	crashed func(reason any) // told of a panic

	mu      sync.Mutex
	over    bool
	running sync.WaitGroup
}

// guard is deferred by what runs on the session's behalf and is no actor: a panic in it goes no
// further. Nobody knows what it left undone, so what rests on it ends, as with a panic of the
// session's own actor: the epoch, and every hold in it, with [ErrRestarted].
func (t *tasks) guard() {
	if reason := recover(); reason != nil {
		t.crashed(reason)
	}
}

// guarded calls what others have passed in.
func (t *tasks) guarded(f func()) {
	defer t.guard()
	f()
}

// run starts a task; false if the session has ended.
func (t *tasks) run(f func()) bool {
	if !t.begin() {
		return false
	}
	go func() { // owned by the session; see tasks
		defer t.running.Done()
		defer t.guard()
		stack.Widen()
		f()
	}()
	return true
}

// begin reserves a task.
func (t *tasks) begin() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return false
	}
	t.running.Add(1)
	return true
}

// end refuses further tasks and waits for those that run.
func (t *tasks) end() {
	t.mu.Lock()
	t.over = true
	t.mu.Unlock()
	t.running.Wait()
}

// alarm is a timer whose reaction is a task that has the session's mutex. Its methods need the
// mutex too.
type alarm struct {
	tasks *tasks
	state *state
	react func()

	timer *time.Timer // nil: not set
	at    lease.Instant
	round int // counts how often it was set, so that a reaction that comes too late is known
}

// set lets the alarm go off at a moment, unless it does so before anyway.
func (a *alarm) set(now, at lease.Instant) {
	if a.timer != nil && a.at.Mono <= at.Mono {
		return
	}
	a.stop()
	if !a.tasks.begin() {
		return
	}
	a.at = at
	a.round++
	round := a.round
	a.timer = time.AfterFunc(max(now.Left(at), 0), func() {
		defer a.tasks.running.Done()
		defer a.tasks.guard()
		g := a.state.lock()
		defer g.unlock()
		if a.timer != nil && a.round == round {
			a.timer = nil
			a.react()
		}
	})
}

// stop takes it back.
func (a *alarm) stop() {
	if a.timer != nil && a.timer.Stop() {
		a.tasks.running.Done()
	}
	a.timer = nil
}
