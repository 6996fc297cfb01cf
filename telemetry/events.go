package telemetry

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
)

// on takes an event. It is called by one goroutine at a time.
func (o *observer) on(s *session.Session, ev session.Event) {
	ctx, took, failed := context.Background(), ev.Took.Seconds(), errorType(ev.Err) // an event has no caller
	possession := func() metric.MeasurementOption {
		return o.of(label{"troupe.recipe", ev.Recipe}, o.name(s, ev.Path), label{"error.type", failed})
	}
	messaging := func(operation string) metric.MeasurementOption {
		return o.of(label{"messaging.system", "troupe"}, label{"messaging.operation.name", operation}, label{"messaging.destination.name", o.name(s, ev.Path).value}, label{"error.type", failed})
	}
	becomes := func(state string) { o.transitions.Add(ctx, 1, o.of(label{"troupe.session.state", state})) }
	var err error
	switch ev.Kind {
	case session.EventStarted:
		err = o.begin(s)
	case session.EventConnected, session.EventSuspended, session.EventUntrusted:
		becomes(ev.To)
	case session.EventEpochEnded:
		if !errors.Is(ev.Err, session.ErrClosed) {
			becomes("lost")
		}
	case session.EventClosed:
		becomes("closed")
		err = o.end(s)
	case session.EventStalled:
		o.stall.Record(ctx, took, o.of())
	case session.EventRestarted:
		o.restarts.Add(ctx, 1, o.of(label{"troupe.recipe", ev.Recipe}))
	case session.EventGranted:
		o.wait.Record(ctx, took, possession())
		if ev.Recipe == election { // a span of the whole term would be lost with the process
			of := trace.WithAttributes(attribute.String("troupe.name", o.name(s, ev.Path).value), attribute.Int64("troupe.token", ev.Token))
			_, span := o.tracer.Start(ctx, "troupe.election.won", trace.WithTimestamp(ev.Time.Add(-ev.Took)), of)
			span.End(trace.WithTimestamp(ev.Time))
		}
	case session.EventReleased:
		o.hold.Record(ctx, took, possession())
	case session.EventLost:
		o.hold.Record(ctx, took, possession())
		o.losses.Add(ctx, 1, possession())
	case session.EventItemPut:
		o.operation.Record(ctx, took, messaging("put"))
		o.sent.Add(ctx, int64(ev.Attempt), messaging("put"))
	case session.EventItemClaimed:
		o.consumed.Add(ctx, 1, messaging("claim"))
	case session.EventItemSettled:
		if failed == "" && ev.To != "acknowledged" {
			failed = ev.To
		}
		o.process.Record(ctx, took, messaging("process"))
	}
	if err != nil {
		otel.Handle(fmt.Errorf("telemetry: %w", err))
	}
}

// begin begins to report the present state.
func (o *observer) begin(s *session.Session) (err error) {
	o.registration, err = o.meter.RegisterCallback(func(_ context.Context, to metric.Observer) error {
		o.observe(s, to)
		return nil
	}, o.observed...)
	return err
}

// end ends that, and records the last requests.
func (o *observer) end(s *session.Session) error {
	if o.registration == nil {
		return nil
	}
	defer func() { o.record(s.Snapshot().Requests) }()
	return o.registration.Unregister()
}

var errorTypes = []struct {
	err  error
	name string
}{
	{session.ErrDataLoss, "data_loss"},
	{session.ErrExpired, "expired"},
	{session.ErrDeleted, "deleted"},
	{session.ErrUntrusted, "untrusted"},
	{session.ErrSuspended, "suspended"},
	{session.ErrRestarted, "restarted"},
	{queue.ErrOverdue, "overdue"},
	{queue.ErrFull, "full"},
	{queue.ErrDuplicate, "duplicate"},
	{session.ErrTooLarge, "too_large"},
	{session.ErrNoAuth, "no_auth"},
	{session.ErrUnknownOutcome, "unknown_outcome"},
	{session.ErrClosed, "closed"},
	{session.ErrLost, "lost"},
	{context.DeadlineExceeded, "timeout"},
	{context.Canceled, "canceled"},
}

// errorType is the attribute error.type: of several that fit, the first one.
func errorType(err error) string {
	if err == nil {
		return ""
	}
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
