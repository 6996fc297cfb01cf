package election

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/session"
)

// Run campaigns until it ends, and calls f for each term. f's context descends from ctx and ends
// with the term, and with Close.
//
//   - If f returns nil, the term is resigned and the candidate queues again at the end. If that was
//     within a second, it pauses before, from 100 ms to 5 s, longer each time in a row.
//   - If the term was lost while f ran, Run ignores f's error, and the candidate queues again.
//   - If f returns any other error, Run returns that error.
//   - If ctx ends, Run waits for f to return, and returns ctx's cause.
//
// The candidate's znode is deleted only after f has returned, so no other candidate leads while f
// runs, unless the term was lost. It is deleted before Run returns, if ZooKeeper can be reached
// within the session timeout, otherwise in the background. Other errors are those of
// [Election.Lead].
func (e *Election) Run(ctx context.Context, f func(ctx context.Context, t *Term) error) error {
	if f == nil {
		return recipe.Failed(e.session, "run", e.path, errors.New("f: nil"))
	}
	by := recipe.Asked{At: recipe.Caller().For(ctx), Lasts: true}
	ctx, leave, err := e.runs.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	for quick, warned := 0, false; ; {
		t, err := e.lead(ctx, by)
		if err != nil {
			return err
		}
		began := time.Now()
		if err := e.serve(ctx, t, f); err != nil {
			return err
		}
		if time.Since(began) >= tooQuick || ctx.Err() != nil || !errors.Is(t.Err(), session.ErrReleased) {
			quick, warned = 0, false
			continue
		}
		if quick++; !warned && !t.transferred.Load() { // a term that was handed over at once was meant so
			warned = true
			recipe.Logger(e.session).Warn("a leader's function returns at once: the next term waits", "recipe", "election", "path", e.session.Path(e.path), "asked", by.At.String())
		}
		e.pause(ctx, quick)
	}
}

// A term is too quick if its function returns nil within this time. The next one waits, longer each
// time: with a function that has nothing to do, candidates would take turns as fast as ZooKeeper
// can.
const (
	tooQuick      = time.Second
	shortestPause = 100 * time.Millisecond
	longestPause  = 5 * time.Second
)

// pause waits after a number of quick terms in a row, or until ctx or the candidate ends.
func (e *Election) pause(ctx context.Context, quick int) {
	d := min(shortestPause<<min(quick-1, 10), longestPause)
	timer := time.NewTimer(d - d/4 + rand.N(d/2)) // so that candidates do not go on together
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-e.Done():
	}
}

// serve runs f for one term and resigns the term. It returns nil if Run is to go on with the next
// term, if ctx permits.
func (e *Election) serve(ctx context.Context, t *Term, f func(ctx context.Context, t *Term) error) error {
	resigned := false
	resign := func() error {
		resigned = true
		rctx, cancel := recipe.Afterwards(ctx, e.session)
		defer cancel()
		return t.Resign(rctx)
	}
	defer func() { // f panicked, or ended its goroutine
		if !resigned {
			_ = resign()
		}
	}()
	inner, cancel := recipe.Within(ctx, t.Hold)
	err := f(inner, t)
	if t.obeyed(inner, err) {
		err = nil
	}
	cancel()
	unconfirmed := resign()
	if err == nil || t.Err() != nil && !errors.Is(t.Err(), session.ErrReleased) {
		return err // a deletion not confirmed yet goes on by itself; of a lost term there is nothing to confirm
	}
	return errors.Join(err, unconfirmed)
}

// obeyed tells whether f's error is only the consequence of the end of the term, or of Run. A
// context is cancelled a moment after its term has ended.
func (t *Term) obeyed(ctx context.Context, err error) bool {
	if t.Err() == nil && ctx.Err() == nil {
		return false
	}
	for _, end := range []error{context.Canceled, session.ErrLost, session.ErrReleased, ctx.Err(), context.Cause(ctx)} {
		if end != nil && errors.Is(err, end) {
			return true
		}
	}
	return false
}

// runs are the calls of Run in progress, so that Close can cancel their functions' contexts and
// wait for them before anything is deleted.
type runs struct {
	mu     sync.Mutex
	active map[*notify.Latch]context.CancelCauseFunc // by the latch that closes when the call is over
	cause  error                                     // set once closed
	idle   notify.Latch                              // closes when closed and no call is in progress
}

// enter begins a call: its context ends with ctx and with close.
func (r *runs) enter(ctx context.Context) (context.Context, func(), error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cause != nil {
		return nil, nil, r.cause
	}
	ctx, cancel := context.WithCancelCause(ctx)
	over := new(notify.Latch)
	r.active[over] = cancel
	return ctx, func() { r.leave(over); cancel(nil) }, nil
}

func (r *runs) leave(over *notify.Latch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.active, over)
	over.Close()
	if r.cause != nil && len(r.active) == 0 {
		r.idle.Close()
	}
}

// close cancels the contexts of all calls with the cause, and those of later calls at once. The
// channel that it returns closes when all calls have ended.
func (r *runs) close(cause error) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cause == nil {
		r.cause = cause
	}
	for _, cancel := range r.active {
		cancel(r.cause)
	}
	if len(r.active) == 0 {
		r.idle.Close()
	}
	return r.idle.C()
}
