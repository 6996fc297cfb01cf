package fxmodule

import (
	"context"
	"errors"
	"log/slog"

	"go.uber.org/fx"

	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/election"
)

// RunLeader calls fn for each term of the named [Election] while the application runs: see
// election.Run. fn is a func(context.Context, *election.Term) error, or has further parameters,
// which fx provides, as it does to a constructor; structs with fx.In too:
//
//	fxmodule.RunLeader("reports", func(ctx context.Context, t *election.Term, db *sql.DB) error { … })
//
// They are provided once, when the graph is built. fn's context ends with the term and when the
// application stops; the term is resigned after fn has returned. If fn returns nil, the candidate
// campaigns again. If fn returns an error, the application is shut down, with exit code 1, unless
// the term was over: then the error is only logged. A panic in fn always shuts the application
// down, and its stack is logged. The application is also shut down if the election itself ends. An
// election has one RunLeader: fx.New and fx.ValidateApp refuse a second.
func RunLeader(name string, fn any) fx.Option {
	at := recipe.Caller()
	run := running("RunLeader", name, fn, func(e *election.Election, call func(context.Context, *election.Term) error, in worker) error {
		r := &reign{name: name, fn: call, running: make(chan struct{}, 1), log: logger(in.Log)}
		in.work(nil, func(ctx context.Context) error {
			defer context.AfterFunc(ctx, func() { // the stop begins
				r.running <- struct{}{}               // waits for fn
				if in.Session.Status().Server == "" { // Run's resignation would wait for a connection
					_ = e.Close(ctx) // does not, since ctx has ended
				}
				<-r.running
			})()
			return in.ended(ctx, e.Run(recipe.AskedAt(ctx, at), r.lead))
		})
		return nil
	})
	return fx.Options(run, fx.Provide(fx.Annotated{Name: name, Target: func() onlyRunLeader { return onlyRunLeader{} }}))
}

// onlyRunLeader is provided under an election's name, so that a second RunLeader for it is refused
// when the graph is validated: the two would take turns.
type onlyRunLeader struct{}

// reign is the work of one RunLeader.
type reign struct {
	name    string
	fn      func(ctx context.Context, t *election.Term) error
	log     *slog.Logger
	running chan struct{} // a mutex, which is locked while fn runs
}

func (r *reign) lead(ctx context.Context, t *election.Term) error {
	r.running <- struct{}{}
	err := recovered(func() error { return r.fn(ctx, t) })
	<-r.running
	if err == nil {
		return nil
	}
	if p, panicked := errors.AsType[*panicError](err); panicked {
		r.log.Error("the leader's function panicked", "election", r.name, "token", t.Token(), "panic", p.value, "stack", string(p.stack))
		return err
	}
	if ctx.Err() == nil && t.Err() == nil {
		return err
	}
	// Any failure at the end of the term may be caused by that end: no reason to stop the
	// application.
	r.log.Warn("the leader's function failed at the end of its term", "election", r.name, "token", t.Token(), "error", err)
	return nil
}
