package observe

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/session"
)

// Spec describes an observer.
type Spec struct {
	Session *session.Session
	Kind    string // shown in the tree
	Path    string // what is observed; shown in the tree

	Begin func(t *Turn) // begins an incarnation with new state, and subscribes to what it needs

	// Ended is called once, and closes the application's channels. givenUp is nil if the observer
	// ended with ctx, with the session or by [Turn.End]. Otherwise it is the error after too many
	// panics, which has been logged.
	Ended func(givenUp error)
}

// Run starts an observer, which runs until ctx or the session ends.
func Run(ctx context.Context, spec Spec) {
	o := &observation{Spec: spec}
	ref, err := actors.Spawn(recipe.Scope(spec.Session), actors.Spec[step]{
		Name: spec.Path, Kind: spec.Kind,
		New:   func(self actors.Self[step]) actors.Receiver[step] { return o.begin(self) },
		Ended: o.ended,
	})
	if err != nil { // the session is closed
		spec.Ended(nil)
		return
	}
	stop := context.AfterFunc(ctx, ref.Stop)
	o.stop.Store(&stop)
	select {
	case <-ref.Done(): // it ended before stop was stored
		stop()
	default:
	}
	if told, ok := ctx.Value(Started{}).(func(func(func()) bool)); ok {
		told(func(f func()) bool { return ref.Tell(step{do: f}) })
	}
}

// Started is the key of a func in a context, for tests. The func is called for every observer that
// is started with the context. Its argument calls a func in the actor; false: that has ended.
type Started struct{}

type observation struct {
	Spec
	log  atomic.Pointer[slog.Logger]
	stop atomic.Pointer[func() bool] // removes the AfterFunc on the application's context
}

func (o *observation) begin(self actors.Self[step]) *Turn {
	o.log.Store(self.Log())
	t := &Turn{ref: self.Ref()}
	t.ctx, t.cancel = context.WithCancel(context.Background()) // the context of the incarnation: Stopping cancels it
	o.Begin(t)
	return t
}

func (o *observation) ended(cause error) {
	if errors.Is(cause, actors.ErrGivenUp) {
		o.log.Load().Error("an observer has ended", "cause", cause)
	}
	if stop := o.stop.Load(); stop != nil {
		(*stop)()
	}
	o.Spec.Ended(cause)
}

// step is a message to the actor: a function to call, for one incarnation.
type step struct {
	of   *Turn           // nil: for any incarnation
	ctx  context.Context // the step is dropped if this context has ended
	do   func()
	done chan struct{} // closed when the step is done, if not nil
}

// Turn is one incarnation of an observer. The actor calls its functions, one at a time. The context
// in a call of [Each], [Ask] or [After] is the turn's, or descends from that.
type Turn struct {
	ref    actors.Ref[step]
	ctx    context.Context
	cancel context.CancelFunc
}

// Context returns a context that ends with the incarnation.
func (t *Turn) Context() context.Context { return t.ctx }

// Do has the actor call f. It does not wait, and may be called from any goroutine.
func (t *Turn) Do(f func()) { t.ref.Tell(step{t, t.ctx, f, nil}) }

// End ends the observer. Pending calls and states are dropped.
func (t *Turn) End() {
	t.cancel()
	t.ref.Stop()
}

// Receive implements [actors.Receiver].
func (t *Turn) Receive(m step) {
	if m.of != nil && (m.of != t || m.ctx.Err() != nil) {
		return
	}
	m.do()
	if m.done != nil {
		close(m.done)
	}
}

// Stopping ends the goroutines of the incarnation.
func (t *Turn) Stopping(error) { t.cancel() }

// Each calls f with each state from the channel, and when the channel closes, with the zero state
// and false. It ends early when ctx ends.
func Each[T any](ctx context.Context, t *Turn, states <-chan T, f func(state T, open bool)) {
	go func() { // owned by the turn; ends with it, with ctx or with the channel
		for {
			select {
			case <-ctx.Done():
				return
			case state, open := <-states:
				done := make(chan struct{})
				if !t.ref.Tell(step{t, ctx, func() { f(state, open) }, done}) || !open {
					return
				}
				select {
				case <-done:
				case <-ctx.Done():
					return
				}
			}
		}
	}()
}

// Ask makes a blocking call on a separate goroutine, and passes its result to f, unless ctx has
// ended. A panic in the call is raised in the actor.
func Ask[T any](ctx context.Context, t *Turn, call func(ctx context.Context) T, f func(answer T)) {
	go func() { // owned by the turn: the call ends with ctx
		defer func() {
			if reason := recover(); reason != nil {
				t.ref.Tell(step{t, t.ctx, func() { panic(fmt.Sprintf("beside the observation: %v", reason)) }, nil})
			}
		}()
		answer := call(ctx)
		t.ref.Tell(step{t, ctx, func() { f(answer) }, nil})
	}()
}

// After calls f after a pause, unless ctx has ended by then.
func After(ctx context.Context, t *Turn, pause time.Duration, f func()) {
	time.AfterFunc(pause, func() { t.ref.Tell(step{t, ctx, f, nil}) })
}

// Backoff is a jittered pause that grows with the number of failures in a row.
func Backoff(failures int) time.Duration {
	const first, most = 50 * time.Millisecond, 5 * time.Second
	pause := min(first<<min(failures, 10), most)
	return pause/2 + rand.N(pause/2)
}
