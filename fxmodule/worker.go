package fxmodule

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/fx"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/session"
)

// surroundings are what a function that runs while the application runs has, or may have.
type surroundings struct {
	fx.In

	Session    *session.Session
	Budget     *budget
	Lifecycle  fx.Lifecycle
	Shutdowner fx.Shutdowner
	Log        *slog.Logger         `optional:"true"`
	Meters     metric.MeterProvider `optional:"true"`
	Tracers    trace.TracerProvider `optional:"true"`
}

// worker is an option that runs a function with a named instance while the application runs.
type worker struct {
	surroundings

	title    string
	instance any
}

// The parts of a stop's time by whose end something has returned: fx calls the hooks one after the
// other, and no further one once its timeout has passed. The rest is for what is not Troupe's.
const (
	workDone      = 0.7  // the work in hand
	consumersDone = 0.78 // what they have not worked on is returned
	functionsDone = 0.8  // all functions, whose contexts have ended by then
	closersDone   = 0.9  // the instances
	sessionDone   = 0.96
	systemDone    = 0.98
)

// budget shares out fx's stop timeout. One for a graph, it also has what the graph has resolved for
// each function, what it lacks, and the instances whose functions did not return in time.
type budget struct {
	resolved map[*string]*arguments
	missing  map[*string][]string
	stuck    map[any]bool

	stopping context.Context // ends when the first of the hooks is called: then all functions end side by side
	stop     context.CancelFunc
	begun    time.Time
	whole    time.Duration // 0: no limit
	closers  int
	closed   int
}

func newBudget() *budget {
	b := &budget{resolved: make(map[*string]*arguments), missing: make(map[*string][]string), stuck: make(map[any]bool)}
	b.stopping, b.stop = context.WithCancel(context.Background()) // it lives as long as the application
	return b
}

// until is ctx, of a hook, until this part of the whole time is over.
func (b *budget) until(ctx context.Context, part float64) (context.Context, context.CancelFunc) {
	if b.stopping.Err() == nil {
		b.begun = time.Now()
		if deadline, ok := ctx.Deadline(); ok {
			b.whole = deadline.Sub(b.begun)
		}
		b.stop()
	}
	return b.within(ctx, part)
}

// within is until for a caller that knows that the stop has begun.
func (b *budget) within(ctx context.Context, part float64) (context.Context, context.CancelFunc) {
	if b.whole == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, b.begun.Add(time.Duration(part*float64(b.whole))))
}

// closing has the application close an instance, after all that was made later; each has the same
// time, and what others leave of theirs. If it waited in vain for a function that is named already,
// that is not said again.
func (b *budget) closing(lc fx.Lifecycle, s *session.Session, title string, instance any, closer func(ctx context.Context) error) {
	b.closers++
	lc.Append(fx.Hook{OnStop: func(ctx context.Context) error {
		b.closed++
		ctx, cancel := b.until(ctx, functionsDone+(closersDone-functionsDone)*float64(b.closed)/float64(b.closers))
		defer cancel()
		err := letGo(ctx, s, closer)
		if err == nil || b.stuck[instance] && errors.Is(err, context.DeadlineExceeded) {
			return nil
		}
		return fmt.Errorf("%s: %w", title, err)
	}})
}

// letGo has something release what it holds. Without a connection that waits for nothing: the
// session's end, which is waited for, releases everything.
func letGo(ctx context.Context, s *session.Session, release func(ctx context.Context) error) error {
	if s.Status().Server != "" {
		return unlessClosed(release(ctx))
	}
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	_ = release(ctx)
	return nil
}

// unlessClosed is the error of a close; it is none if that was over already.
func unlessClosed(err error) error {
	if errors.Is(err, session.ErrClosed) {
		return nil
	}
	return err
}

// work runs a function while the application runs: from OnStart until it has returned, by itself or
// because the context of the stop has ended. begin, if there is one, may refuse the start.
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

// ended shuts the application down over the end of something that was to last as long; that of the
// session is handled elsewhere.
func (in worker) ended(stopping context.Context, err error) error {
	if stopping.Err() == nil && in.Session.Err() == nil {
		shutDown(in.Shutdowner, logger(in.Log), in.title+" has failed", err)
	}
	return nil // it is not the stop's
}

// panicError is a panic, or a runtime.Goexit, of the application's function.
type panicError struct {
	value any
	stack []byte
}

func (p *panicError) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// LogValue has the stack in the log.
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
