package fxmodule_test

// The harness of the tests: an application, its servers and queues, its log and metrics.

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"regexp"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/fx"
	"go.uber.org/fx/fxevent"

	"github.com/troupe-go/troupe/fxmodule"
	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

func TestMain(m *testing.M) { tier.Main(m) }

// quiet keeps fx's own log out of the tests' output.
var quiet = fx.WithLogger(func() fxevent.Logger { return fxevent.NopLogger })

// app starts an application, and stops it at the end of the test if that has not happened.
func app(t *testing.T, opts ...fx.Option) *fx.App {
	t.Helper()
	a := fx.New(append(opts, quiet, fxmodule.Module)...)
	require.NoError(t, a.Err())
	require.NoError(t, a.Start(bubble.Minute(t)))
	var once sync.Once
	t.Cleanup(func() { once.Do(func() { _ = a.Stop(bubble.Minute(t)) }) })
	return a
}

func servers(t *testing.T) (*zktest.Server, fx.Option) {
	srv := zktest.Start(t)
	return srv, fx.Supply(fxmodule.Default(srv.Servers()...))
}

// put puts items into a queue.
func put(t *testing.T, s *session.Session, path string, items ...string) *queue.Queue {
	t.Helper()
	q := must(queue.New(s, path))
	for _, item := range items {
		must(q.Put(bubble.Minute(t), []byte(item)))
	}
	return q
}

// length is how many items a queue has.
func length(t *testing.T, q *queue.Queue) int {
	t.Helper()
	return must(q.Stats(bubble.Minute(t))).Items
}

// metered is a part of an application that counts, and what it has counted.
func metered() (fx.Option, sdkmetric.Reader) {
	reader := sdkmetric.NewManualReader()
	return fx.Provide(func() metric.MeterProvider { return sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)) }), reader
}

// logged is a part of an application that logs, and its log.
func logged() (fx.Option, *buffer) {
	log := new(buffer)
	return fx.Supply(slog.New(slog.NewTextHandler(log, nil))), log
}

// collect reads all metrics, each added up.
func collect(t *testing.T, reader sdkmetric.Reader) map[string]float64 {
	t.Helper()
	values := map[string]float64{}
	each(t, reader, func(m metricdata.Metrics) {
		switch data := m.Data.(type) {
		case metricdata.Gauge[int64]:
			values[m.Name] = float64(data.DataPoints[0].Value)
		case metricdata.Gauge[float64]:
			values[m.Name] = data.DataPoints[0].Value
		case metricdata.Sum[int64]:
			values[m.Name] = float64(data.DataPoints[0].Value)
		case metricdata.Histogram[float64]:
			for _, p := range data.DataPoints {
				values[m.Name] += float64(p.Count)
			}
		}
	})
	return values
}

// by are the values of one metric by an attribute.
func by(t *testing.T, reader sdkmetric.Reader, name string, key attribute.Key) map[string]float64 {
	t.Helper()
	values := map[string]float64{}
	each(t, reader, func(m metricdata.Metrics) {
		if data, is := m.Data.(metricdata.Gauge[int64]); is && m.Name == name {
			for _, p := range data.DataPoints {
				of, _ := p.Attributes.Value(key)
				values[of.AsString()] = float64(p.Value)
			}
		}
	})
	return values
}

// outcomes are how often the log has each outcome of an item that was not processed.
func outcomes(log *buffer) map[string]int {
	counted := map[string]int{}
	for _, of := range regexp.MustCompile(`outcome=(\w+)`).FindAllStringSubmatch(log.String(), -1) {
		counted[of[1]]++
	}
	return counted
}

func each(t *testing.T, reader sdkmetric.Reader, f func(m metricdata.Metrics)) {
	t.Helper()
	var all metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(context.Background(), &all))
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			f(m)
		}
	}
}

// unused is an address without a listener.
func unused(t *testing.T) string {
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	defer l.Close()
	return l.Addr().String()
}

// buffer is a log that may be written to while it is read.
type buffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// must returns v. An error while a test is arranged is a panic.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
