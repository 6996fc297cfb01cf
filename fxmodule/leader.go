package fxmodule

import (
	"context"
	"errors"
	"log/slog"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
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
//
// Each term is a span "troupe.lead" in the graph's trace.TracerProvider. The metric.MeterProvider
// gets troupe.election.terms, the number of terms, and troupe.election.leading, which is 1 while fn
// runs.
func RunLeader(name string, fn any) fx.Option {
	at := recipe.Caller()
	run := running("RunLeader", name, fn, func(e *election.Election, call func(context.Context, *election.Term) error, in worker) error {
		r := &reign{name: name, fn: call, running: make(chan struct{}, 1), tracer: tracer(in.Tracers), log: logger(in.Log)}
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
		return r.instruments(in.Meters)
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
	tracer  trace.Tracer
	terms   metric.Int64Counter
	leading metric.Int64UpDownCounter
	running chan struct{} // a mutex, which is locked while fn runs
}

func (r *reign) instruments(mp metric.MeterProvider) error {
	m := meter(mp)
	var errs [2]error
	r.terms, errs[0] = m.Int64Counter("troupe.election.terms", metric.WithDescription("terms that this process has begun"))
	r.leading, errs[1] = m.Int64UpDownCounter("troupe.election.leading", metric.WithDescription("1 while this process leads"))
	return errors.Join(errs[:]...)
}

func (r *reign) lead(ctx context.Context, t *election.Term) error {
	of := attribute.String("election", r.name)
	ctx, span := r.tracer.Start(ctx, "troupe.lead", trace.WithAttributes(of, attribute.Int64("token", t.Token())))
	defer span.End()
	r.terms.Add(ctx, 1, metric.WithAttributes(of))
	r.leading.Add(ctx, 1, metric.WithAttributes(of))
	defer r.leading.Add(context.WithoutCancel(ctx), -1, metric.WithAttributes(of))
	r.running <- struct{}{}
	err := recovered(func() error { return r.fn(ctx, t) })
	<-r.running
	if err == nil {
		return nil
	}
	span.RecordError(err)
	span.SetStatus(codes.Error, err.Error())
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
