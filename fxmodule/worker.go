package fxmodule

import (
	"context"
	"fmt"
	"time"

	"go.uber.org/fx"
)

// worker is a function that runs while the application runs: from OnStart until it has returned, by
// itself or because OnStop ended its context.
type worker struct {
	name   string // in errors
	run    func(ctx context.Context)
	cancel context.CancelFunc
	done   chan struct{}
}

// work runs a function while the application runs.
func work(lc fx.Lifecycle, name string, run func(ctx context.Context)) {
	w := &worker{name: name, run: run}
	lc.Append(fx.Hook{OnStart: w.start, OnStop: w.stop})
}

func (w *worker) start(context.Context) error {
	var ctx context.Context
	ctx, w.cancel = context.WithCancel(context.Background()) // it lives as long as the application; that of OnStart ends with the start
	w.done = make(chan struct{})
	go func() { // owned by the worker; stop waits for it
		defer close(w.done)
		w.run(ctx)
	}()
	return nil
}

// stop ends the context and waits until the function has returned, or most of fx's stop timeout is
// over.
func (w *worker) stop(ctx context.Context) error {
	w.cancel()
	ctx, cancel := most(ctx, 0.8)
	defer cancel()
	select {
	case <-w.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("fxmodule: %s: the function did not return in time: %w", w.name, context.Cause(ctx))
	}
}

// most is a context that ends when this part of ctx's remaining time is over. fx calls no further
// hook once its timeout has passed, so a hook that waits for the application's code must leave time
// for the later hooks, which release what is held.
func most(ctx context.Context, part float64) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Duration(part*float64(time.Until(deadline))))
}
