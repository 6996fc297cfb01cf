package observe

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/session"
)

// Spec describes an observation.
type Spec struct {
	Session *session.Session
	Kind    string // shown in the tree
	Path    string // what is observed; shown in the tree

	Begin func(t *Turn) // begins an incarnation, with fresh state: it subscribes to what it needs

	// Ended is called once, and closes what the application receives from: nil when it is over with
	// ctx, with the session or with [Turn.End], else why it was given up, which has been logged.
	Ended func(givenUp error)
}

// Run begins an observation, which goes on until ctx or the session ends.
func Run(ctx context.Context, spec Spec) {
	o := &observation{Spec: spec}
	ref, err := actors.Spawn(spec.Session.Scope(), actors.Spec[step]{
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
	case <-ref.Done(): // it has ended before that was known
		stop()
	default:
	}
	register(ctx, ref)
}

type observation struct {
	Spec
	log  atomic.Pointer[slog.Logger]
	stop atomic.Pointer[func() bool] // undoes what waits for the context of whoever observes
}

func (o *observation) begin(self actors.Self[step]) *Turn {
	o.log.Store(self.Log())
	t := &Turn{ref: self.Ref()}
	t.ctx, t.cancel = context.WithCancel(context.Background()) // of the incarnation, which Stopping ends
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

// step is what the actor receives: something to do, for one incarnation.
type step struct {
	of   *Turn           // nil: for whichever there is
	ctx  context.Context // nothing is to be done any more if it has ended
	do   func()
	done chan struct{} // closed when it is done, if not nil
}

// Turn is one incarnation of an observation. Its functions are called by the actor, one at a time.
type Turn struct {
	ref    actors.Ref[step]
	ctx    context.Context
	cancel context.CancelFunc
}

// Context ends with the incarnation.
func (t *Turn) Context() context.Context { return t.ctx }

// Do calls f, soon. It may be called from anywhere, and does not wait.
func (t *Turn) Do(f func()) { t.ref.Tell(step{t, t.ctx, f, nil}) }

// End ends the observation. What is under way is not taken any more.
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

// Stopping ends what feeds the incarnation.
func (t *Turn) Stopping(error) { t.cancel() }

// Each calls f with each state that comes, and at last, when the channel closes, with the zero one
// and false. It ends early with ctx, which is the turn's or descends from it.
func Each[T any](ctx context.Context, t *Turn, states <-chan T, f func(state T, open bool)) {
	go func() { // owned by the turn, ends with it, with ctx or with the channel
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

// Ask makes a call that may take its time, beside the actor, and passes its answer to f, unless ctx
// has ended; that is the turn's or descends from it. A panic in the call counts as the actor's.
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

// After calls f after a pause, unless ctx has ended by then; that is the turn's or descends from
// it.
func After(ctx context.Context, t *Turn, pause time.Duration, f func()) {
	time.AfterFunc(pause, func() { t.ref.Tell(step{t, ctx, f, nil}) })
}
