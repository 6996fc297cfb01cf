package fxmodule

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.uber.org/fx"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/session"
)

// surroundings are the parts of the graph that every worker needs, or uses if they are there.
type surroundings struct {
	fx.In

	Session    *session.Session
	Budget     *budget
	Lifecycle  fx.Lifecycle
	Shutdowner fx.Shutdowner
	Log        *slog.Logger         `optional:"true"`
	Tracers    trace.TracerProvider `optional:"true"`
}

// worker runs a function of RunLeader, Consume and the like while the application runs.
type worker struct {
	surroundings

	title    string // the option as the user wrote it
	instance any    // the named instance that the function works with
}

// The deadlines of a stop, as fractions of fx's stop timeout, which all hooks share: fx calls one
// after the other, and none once it has passed. The last 2 % are for hooks of other modules.
const (
	workDone      = 0.7  // the work in hand is finished
	cutDone       = 0.74 // work that was cut off has ended, and its items went back
	consumersDone = 0.78 // consumers have returned the items that they claimed and did not work on
	functionsDone = 0.8  // all functions have returned; their contexts ended when the stop began
	closersDone   = 0.9  // the named instances are closed
	sessionDone   = 0.96 // the session is closed
	systemDone    = 0.98 // the actors have ended
)

// budget shares out fx's stop timeout. There is one in a graph.
type budget struct {
	stopping context.Context // ends when the first hook is called: then all functions end side by side
	stop     context.CancelFunc
	begun    time.Time     // when stopping ended
	whole    time.Duration // fx's stop timeout; 0: none
	closers  int           // how many instances are to be closed
	closed   int           // how many of their hooks have been called
	stuck    map[any]bool  // instances whose functions did not return in time
}

func newBudget() *budget {
	b := &budget{stuck: make(map[any]bool)}
	b.stopping, b.stop = context.WithCancel(context.Background()) // it lives as long as the application
	return b
}

// until limits a hook's ctx to a fraction of the stop timeout. The first call begins the stop.
func (b *budget) until(ctx context.Context, fraction float64) (context.Context, context.CancelFunc) {
	if b.stopping.Err() == nil {
		b.begun = time.Now()
		if deadline, ok := ctx.Deadline(); ok {
			b.whole = deadline.Sub(b.begun)
		}
		b.stop()
	}
	return b.within(ctx, fraction)
}

// within is until, for a caller that runs after the stop has begun.
func (b *budget) within(ctx context.Context, fraction float64) (context.Context, context.CancelFunc) {
	if b.whole == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, b.begun.Add(time.Duration(fraction*float64(b.whole))))
}

// closing has the stop close an instance, after all that was made later. Each has the same share of
// the time, and what those before it left of theirs. A close that waited in vain for a stuck
// function is no error: work has reported that function.
func (b *budget) closing(lc fx.Lifecycle, s *session.Session, title string, instance any, closer func(ctx context.Context) error) {
	b.closers++
	lc.Append(fx.Hook{OnStop: func(ctx context.Context) error {
		b.closed++
		ctx, cancel := b.until(ctx, functionsDone+(closersDone-functionsDone)*float64(b.closed)/float64(b.closers))
		defer cancel()
		err := releaseIfConnected(ctx, s, closer)
		if err == nil || b.stuck[instance] && errors.Is(err, context.DeadlineExceeded) {
			return nil
		}
		return fmt.Errorf("%s: %w", title, err)
	}})
}

// releaseIfConnected calls release; without a connection, so that it does not wait. The stop waits
// for the end of the session then, which releases everything.
func releaseIfConnected(ctx context.Context, s *session.Session, release func(ctx context.Context) error) error {
	if s.Status().Server != "" {
		return unlessClosed(release(ctx))
	}
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	_ = release(ctx)
	return nil
}

// unlessClosed returns the error of a close; nil if the thing was closed already.
func unlessClosed(err error) error {
	if errors.Is(err, session.ErrClosed) {
		return nil
	}
	return err
}

// work runs a function from OnStart until it has returned. Its context ends when the stop begins;
// OnStop waits for it until functionsDone. begin, if it is not nil, may refuse the start.
func (in worker) work(begin func() error, run func(ctx context.Context) error) {
	b := in.Budget
	var failure error // set before done closes
	done := make(chan struct{})
	start := func(context.Context) error {
		if begin != nil {
			if err := begin(); err != nil {
				return fmt.Errorf("%s: %w", in.title, err)
			}
		}
		go func() { failure = run(b.stopping); close(done) }() // owned by the application; the stop waits for it
		return nil
	}
	stop := func(ctx context.Context) error {
		ctx, cancel := b.until(ctx, functionsDone)
		defer cancel()
		if err := notify.Wait(ctx, done); err != nil {
			b.stuck[in.instance] = true
			return fmt.Errorf("%s: the function did not return in time: %w", in.title, err)
		}
		return failure
	}
	in.Lifecycle.Append(fx.Hook{OnStart: start, OnStop: stop})
}

// ended shuts the application down because a worker's instance has ended before it, with err. If
// the session has ended too, its life does.
func (in worker) ended(stopping context.Context, err error) error {
	if stopping.Err() == nil && in.Session.Err() == nil {
		shutDown(in.Shutdowner, logger(in.Log), in.title+" has failed", err)
	}
	return nil // the error is reported above, and not by the stop
}

// panicError is a panic, or a runtime.Goexit, of the application's function.
type panicError struct {
	value any
	stack []byte
}

func (p *panicError) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// LogValue adds the stack to the text in the log.
func (p *panicError) LogValue() slog.Value {
	return slog.StringValue(p.Error() + "\n" + string(p.stack))
}

// recovered calls f in a goroutine of its own, and turns a panic in it, or a runtime.Goexit, into
// an error, a *panicError.
func recovered(f func() error) error {
	done := make(chan error, 1)
	go func() { // ends with f, for which the caller waits
		err := error(&panicError{value: "runtime.Goexit was called"})
		defer func() {
			if v := recover(); v != nil {
				err = &panicError{v, debug.Stack()}
			}
			done <- err
		}()
		err = f()
	}()
	return <-done
}
