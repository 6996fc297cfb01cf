package telemetry_test

import (
	"context"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/telemetry"
)

func ExampleOption() {
	var (
		servers        = []string{"zk1:2181", "zk2:2181"}
		meterProvider  metric.MeterProvider
		tracerProvider trace.TracerProvider
	)
	sess, err := session.New(servers, telemetry.Option(meterProvider, tracerProvider))
	if err != nil {
		panic(err)
	}
	defer sess.Close(context.Background())
}

func ExampleLink() {
	work := func(ctx context.Context, tracer trace.Tracer, item *queue.Item) {
		ctx, span := tracer.Start(ctx, "process orders", trace.WithLinks(telemetry.Link(item)))
		defer span.End()
		_ = ctx // is that of the work
	}
	_ = work
}
