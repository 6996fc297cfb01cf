package election

import (
	"context"
	"errors"

	"github.com/troupe-go/troupe/internal/host"
	"github.com/troupe-go/troupe/session"
)

// Run leads again and again, and runs f for each term. f's context descends from ctx and ends with
// the term, and with Close.
//
//   - nil from f resigns; the candidate stands again at the end of the line.
//   - A term that was lost while f ran is no end either: f returns, with whatever its context says,
//     and the candidate stands again.
//   - Any other error from f ends Run with that error.
//   - When ctx ends, f returns, and Run with ctx's cause.
//
// The candidate's znode is deleted only after f has returned, so nobody else leads while f runs
// unless the term was lost; and before Run returns, if ZooKeeper can be reached within the session
// timeout, else in the background. Other errors are those of [Election.Lead].
func (e *Election) Run(ctx context.Context, f func(ctx context.Context, t *Term) error) error {
	if f == nil {
		return failed("run", e.path, errors.New("f: nil"))
	}
	by := host.Asked{At: host.Caller(), Lasts: true}
	ctx, leave, err := e.runs.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	for {
		t, err := e.lead(ctx, by)
		if err != nil {
			return err
		}
		if err := e.serve(ctx, t, f); err != nil {
			return err
		}
	}
}

// serve runs f for one term and gives it up. nil: on to the next, if ctx permits.
func (e *Election) serve(ctx context.Context, t *Term, f func(ctx context.Context, t *Term) error) error {
	resigned := false
	resign := func() error {
		resigned = true
		rctx, cancel := host.Afterwards(ctx, e.session)
		defer cancel()
		return t.Resign(rctx)
	}
	defer func() { // f panicked, or ended its goroutine
		if !resigned {
			_ = resign()
		}
	}()
	inner, cancel := session.Within(ctx, t.Hold)
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

// obeyed: the term is over, or the whole run, and the error says no more than that. A context hears
// of its term's end a moment after the term.
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
