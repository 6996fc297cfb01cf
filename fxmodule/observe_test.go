package fxmodule_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/fx"

	"github.com/troupe-go/troupe/fxmodule"
	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/election"
)

// TestTelemetry: what the graph has of providers is reported to.
func TestTelemetry(t *testing.T) {
	t.Parallel()
	_, cfg := servers(t)
	reader := sdkmetric.NewManualReader()
	spans := tracetest.NewSpanRecorder()
	leads := make(chan struct{})
	a := app(t, cfg,
		fx.Provide(
			func() metric.MeterProvider { return sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)) },
			func() trace.TracerProvider { return sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)) },
		),
		fxmodule.Election("reports", "/e"),
		fxmodule.RunLeader("reports", func(ctx context.Context, _ *election.Term) error {
			close(leads)
			<-ctx.Done()
			return nil
		}))
	bubble.Within(t, time.Minute, leads)
	values := collect(t, reader)
	require.InDelta(t, 1, values["troupe.session.connected"], 0)
	require.InDelta(t, 1, values["troupe.session.epoch"], 0)
	require.Positive(t, values["troupe.session.trust"])
	require.InDelta(t, 1, values["troupe.election.terms"], 0)
	require.InDelta(t, 1, values["troupe.election.leading"], 0)
	require.NoError(t, a.Stop(bubble.Minute(t)))
	require.InDelta(t, 0, collect(t, reader)["troupe.election.leading"], 0)
	require.Len(t, spans.Ended(), 1)
	require.Equal(t, "troupe.lead", spans.Ended()[0].Name())
}

// collect reads the metrics of one point each.
func collect(t *testing.T, reader sdkmetric.Reader) map[string]float64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(context.Background(), &all))
	values := map[string]float64{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Gauge[int64]:
				values[m.Name] = float64(data.DataPoints[0].Value)
			case metricdata.Gauge[float64]:
				values[m.Name] = data.DataPoints[0].Value
			case metricdata.Sum[int64]:
				values[m.Name] = float64(data.DataPoints[0].Value)
			case metricdata.Histogram[float64]:
				values[m.Name] = float64(data.DataPoints[0].Count)
			}
		}
	}
	return values
}
