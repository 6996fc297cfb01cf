package main

import (
	"context"
	"sync"
	"time"
)

// together runs functions concurrently until all have returned. The first error cancels the others
// and is returned. The end of ctx cancels them too, but is not an error.
func together(ctx context.Context, functions ...func(context.Context) error) error {
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	for _, f := range functions {
		all.Go(func() { // owned by this call, which waits for it
			if err := f(inner); err != nil && inner.Err() == nil {
				cancel(err)
			}
		})
	}
	all.Wait()
	if ctx.Err() != nil || inner.Err() == nil {
		return nil
	}
	return context.Cause(inner)
}

// after returns a context that ends a while after ctx does.
func after(ctx context.Context, while time.Duration) (context.Context, context.CancelFunc) {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(while, cancel) })
	return late, func() { stop(); cancel() }
}
