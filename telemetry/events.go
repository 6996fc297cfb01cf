package telemetry

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
)

// on takes an event. It is called by one goroutine at a time.
func (o *observer) on(s *session.Session, ev session.Event) {
	ctx, took, failed := context.Background(), ev.Took.Seconds(), errorType(ev.Err) // an event has no caller
	becomes := func(state string) { o.transitions.Add(ctx, 1, o.of("troupe.session.state", state)) }
	var err error
	switch ev.Kind {
	case session.EventStarted:
		read := func(_ context.Context, to metric.Observer) error { o.observe(s, to); return nil }
		o.registration, err = o.meter.RegisterCallback(read, o.observed...)
	case session.EventConnected, session.EventSuspended, session.EventUntrusted:
		becomes(ev.To)
	case session.EventEpochEnded:
		if !errors.Is(ev.Err, session.ErrClosed) {
			becomes("lost")
		}
	case session.EventClosed:
		if o.registration != nil {
			becomes("closed")
			err = o.registration.Unregister()
			o.record(s.Snapshot().Requests) // the last ones
		}
	case session.EventStalled:
		o.stall.Record(ctx, took, o.of())
	case session.EventRestarted:
		o.restarts.Add(ctx, 1, o.of("troupe.recipe", ev.Recipe))
	case session.EventGranted:
		o.wait.Record(ctx, took, o.about(s, &ev, "", failed))
		if ev.Recipe == election { // a span of the whole term would be lost with the process
			of := trace.WithAttributes(attribute.String("troupe.name", o.name(s, ev.Path)), attribute.Int64("troupe.token", ev.Token))
			_, span := o.tracer.Start(ctx, "troupe.election.won", trace.WithTimestamp(ev.Time.Add(-ev.Took)), of)
			span.End(trace.WithTimestamp(ev.Time))
		}
	case session.EventWithdrawn:
		o.wait.Record(ctx, took, o.about(s, &ev, "", cmp.Or(failed, "withdrawn")))
	case session.EventReleased, session.EventLost:
		of := o.about(s, &ev, "", failed)
		o.hold.Record(ctx, took, of)
		if ev.Kind == session.EventLost && failed != "closed" { // the application's own close is no loss
			o.losses.Add(ctx, 1, of)
		}
	case session.EventItemPut:
		of := o.about(s, &ev, "put", cmp.Or(ev.To, failed))
		o.operation.Record(ctx, took, of)
		o.sent.Add(ctx, int64(ev.Attempt), of)
	case session.EventItemClaimed:
		o.consumed.Add(ctx, 1, o.about(s, &ev, "claim", failed))
	case session.EventItemSettled:
		if failed == "" && ev.To != "acknowledged" {
			failed = ev.To
		}
		o.process.Record(ctx, took, o.about(s, &ev, "process", failed))
	}
	if err != nil {
		otel.Handle(fmt.Errorf("telemetry: %w", err))
	}
}

// errorTypes are the values of the attribute error.type. Of several that fit, it is the first one.
// None is of a recipe: programs would link what they do not use.
var errorTypes = []struct {
	err  error
	name string
}{
	{nil, ""},
	{session.ErrDataLoss, "data_loss"},
	{session.ErrExpired, "expired"},
	{session.ErrDeleted, "deleted"},
	{session.ErrUntrusted, "untrusted"},
	{session.ErrSuspended, "suspended"},
	{session.ErrRestarted, "restarted"},
	{machine.ErrHeld, "held"},
	{session.ErrTooLarge, "too_large"},
	{session.ErrNoAuth, "no_auth"},
	{session.ErrUnknownOutcome, "unknown_outcome"},
	{session.ErrAuthFailed, "auth_failed"},
	{session.ErrClosed, "closed"},
	{session.ErrLost, "lost"},
	{context.DeadlineExceeded, "timeout"},
	{context.Canceled, "canceled"},
}

func errorType(err error) string {
	for _, t := range errorTypes {
		if errors.Is(err, t.err) {
			return t.name
		}
	}
	return "_OTHER"
}

// Link is the link from the span in which an item is processed to that in which it was put, for
// trace.WithLinks. If the item has no trace in its headers, the link is not valid, and is ignored.
func Link(i *queue.Item) trace.Link {
	fields := propagation.MapCarrier{"traceparent": i.Header("traceparent"), "tracestate": i.Header("tracestate")}
	return trace.LinkFromContext(propagation.TraceContext{}.Extract(context.Background(), fields))
}

// headers are those of an item that is put with ctx.
func headers(ctx context.Context) (pairs []string) {
	fields := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, fields) // nothing, if there is no trace
	for key, value := range fields {
		pairs = append(pairs, key, value)
	}
	return pairs
}
