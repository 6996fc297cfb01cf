package fxmodule_test

// What an application reports to the providers in its graph. What each instrument measures is
// tested in package telemetry. Helpers: app_test.go.

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/fx"

	"github.com/troupe-go/troupe/fxmodule"
	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
)

// traced is a part of an application that traces, its tracer, and the spans that have ended.
func traced() (fx.Option, trace.Tracer, *tracetest.SpanRecorder) {
	spans := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	return fx.Provide(func() trace.TracerProvider { return provider }), provider.Tracer("test"), spans
}

// troupe.election.leading follows the term, and not the function: it is 0 when the term is lost,
// while the function still runs. A span tells who has won, and is there while the term lasts.
func TestLeadingFollowsTheTerm(t *testing.T) {
	t.Parallel()
	_, cfg := servers(t)
	meters, reader := metered()
	tracers, _, spans := traced()
	var s *session.Session
	leads, done := make(chan *election.Term, 1), make(chan struct{})
	a := app(t, cfg, meters, tracers, fx.Populate(&s), fxmodule.Election("reports", "/e"),
		fxmodule.RunLeader("reports", func(_ context.Context, term *election.Term) error {
			leads <- term
			<-done
			return nil
		}))
	term := bubble.Within(t, time.Minute, leads)
	require.InDelta(t, 1, collect(t, reader)["troupe.election.leading"], 0)
	require.InDelta(t, float64(term.Token()), collect(t, reader)["troupe.election.token"], 0)
	require.Eventually(t, func() bool { return len(spans.Ended()) == 1 }, time.Minute, time.Millisecond)
	require.Equal(t, "troupe.election.won", spans.Ended()[0].Name())

	require.NoError(t, s.Delete(bubble.Minute(t), term.Path(), -1))
	<-term.Done()
	require.InDelta(t, 0, collect(t, reader)["troupe.election.leading"], 0)
	close(done)
	require.NoError(t, a.Stop(bubble.Minute(t)))
}

// troupe.election.leading is there for an election without RunLeader too, under its name here.
func TestLeadingWithoutRunLeader(t *testing.T) {
	t.Parallel()
	_, cfg := servers(t)
	meters, reader := metered()
	type parts struct {
		fx.In
		Election *election.Election `name:"reports"`
	}
	var in parts
	a := app(t, cfg, meters, fx.Populate(&in), fxmodule.Election("reports", "/e"))
	in.Election.Campaign()
	bubble.Within(t, time.Minute, in.Election.Leader())
	require.Equal(t, map[string]float64{"reports": 1}, by(t, reader, "troupe.election.leading", "troupe.name"))
	require.NoError(t, a.Stop(bubble.Minute(t)))
}

// A consumer's span has a link to the span in which the item was put.
func TestAConsumersSpanIsLinked(t *testing.T) {
	t.Parallel()
	_, cfg := servers(t)
	tracers, tracer, spans := traced()
	type parts struct {
		fx.In
		Queue *queue.Queue `name:"jobs"`
	}
	var in parts
	did := make(chan struct{}, 1)
	a := app(t, cfg, tracers, fx.Populate(&in), fxmodule.Queue("jobs", "/q"),
		fxmodule.Consume("jobs", 1, func(context.Context, *queue.Item) error { did <- struct{}{}; return nil }))
	ctx, span := tracer.Start(bubble.Minute(t), "an order")
	must(in.Queue.Put(ctx, []byte("a")))
	bubble.Within(t, time.Minute, did)
	require.NoError(t, a.Stop(bubble.Minute(t)))
	require.Len(t, spans.Ended(), 1)
	links := spans.Ended()[0].Links()
	require.Len(t, links, 1)
	require.Equal(t, span.SpanContext().TraceID(), links[0].SpanContext.TraceID())
	require.Equal(t, span.SpanContext().SpanID(), links[0].SpanContext.SpanID())
}
