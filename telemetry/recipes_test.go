package telemetry_test

// What real recipes report, and what a session reports at its beginning and its end.

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/telemetry"
	"github.com/troupe-go/troupe/zktest"
)

// A queue reports its puts, also those that fail, and what Take, Consume and WithAutoAck do.
func TestMessaging(t *testing.T) {
	bubble.Run(t, func(w *bubble.World) {
		provider, reader := meters()
		s := w.Session(telemetry.Option(provider, nil))
		q := must(queue.New(s, "/q", queue.WithCapacity(2)))
		must(q.PutAll(w.Context(), [][]byte{[]byte("a"), []byte("b")}))
		_, err := q.PutAll(w.Context(), [][]byte{[]byte("c"), []byte("d"), []byte("e")})
		require.ErrorIs(t, err, queue.ErrFull)

		taken := must(q.Take(w.Context()))
		time.Sleep(time.Second)
		require.NoError(t, taken.Ack(w.Context()))
		c := must(q.Consume(queue.WithPrefetch(1)))
		received := bubble.Get(t, c.Items())
		time.Sleep(2 * time.Second)
		require.NoError(t, received.Return(w.Context()))
		received = bubble.Get(t, c.Items())
		w.Server.Expire(s.Status().SessionID)
		<-received.Done()
		require.NoError(t, c.Close(w.Context()))
		auto := must(q.Consume(queue.WithAutoAck()))
		bubble.Get(t, auto.Items())
		require.NoError(t, s.Close(w.Context()))

		item := func(operation, failed string) string {
			return " {" + failed + "messaging.destination.name=/q,messaging.operation.name=" + operation + ",messaging.system=troupe} "
		}
		var lines []string
		for _, line := range collect(t, reader) {
			if strings.Contains(line, "messaging.") {
				lines = append(lines, line)
			}
		}
		require.Equal(t, []string{
			"counter messaging.client.consumed.messages {message}" + item("claim", "") + "4",
			"counter messaging.client.sent.messages {message}" + item("put", "error.type=full,") + "3",
			"counter messaging.client.sent.messages {message}" + item("put", "") + "2",
			"histogram messaging.client.operation.duration s" + item("put", "error.type=full,") + "1 0",
			"histogram messaging.client.operation.duration s" + item("put", "") + "1 0",
			"histogram messaging.process.duration s" + item("process", "error.type=expired,") + "1 0",
			"histogram messaging.process.duration s" + item("process", "error.type=returned,") + "1 2",
			"histogram messaging.process.duration s" + item("process", "") + "2 1",
		}, lines)
	})
}

// Of several elections with one name the oldest term and the newest token are reported, whatever
// their order.
func TestTermsOfOneName(t *testing.T) {
	bubble.Run(t, func(w *bubble.World) {
		provider, reader := meters()
		s := w.Session(telemetry.Option(provider, nil))
		var all []*election.Election
		for n := range 4 {
			all = append(all, must(election.New(s, fmt.Sprint("/e/", n))))
		}
		var newest int64
		for _, n := range []int{1, 0, 3, 2} {
			newest = must(all[n].Lead(w.Context())).Token()
			time.Sleep(time.Second)
		}
		require.Subset(t, collect(t, reader), []string{
			"gauge troupe.possession.hold.age s {troupe.name=/e/#,troupe.recipe=election} 4",
			"gauge troupe.possession.held {possession} {troupe.name=/e/#,troupe.recipe=election} 4",
			"gauge troupe.election.leading {leader} {troupe.name=/e/#} 4",
			"gauge troupe.election.token {token} {troupe.name=/e/#} " + fmt.Sprint(newest),
		})
		require.NoError(t, s.Close(w.Context()))
	})
}

// A session that was never started reports nothing.
func TestNeverStarted(t *testing.T) {
	bubble.Run(t, func(w *bubble.World) {
		provider, reader := meters()
		require.NoError(t, w.Unconnected(telemetry.Option(provider, nil)).Close(w.Context()))
		require.Empty(t, collect(t, reader))
	})
}

// counting is a provider that counts the functions that are registered, and its meter and their
// registrations.
type counting struct {
	metric.MeterProvider
	registered *atomic.Int64
}

type countingMeter struct {
	metric.Meter
	registered *atomic.Int64
}

type countingRegistration struct {
	metric.Registration
	registered *atomic.Int64
}

func (c counting) Meter(name string, opts ...metric.MeterOption) metric.Meter {
	return countingMeter{c.MeterProvider.Meter(name, opts...), c.registered}
}

func (m countingMeter) RegisterCallback(f metric.Callback, of ...metric.Observable) (metric.Registration, error) {
	r, err := m.Meter.RegisterCallback(f, of...)
	m.registered.Add(1)
	return countingRegistration{r, m.registered}, err
}

func (r countingRegistration) Unregister() error {
	r.registered.Add(-1)
	return r.Registration.Unregister()
}

// A session that is closed is not observed any more, also if it did not wait for the hook.
func TestAClosedSessionIsNotObserved(t *testing.T) {
	bubble.Run(t, func(w *bubble.World) {
		provider, reader := meters()
		late := make(chan struct{})
		counted := counting{provider, new(atomic.Int64)}
		s := w.Session(telemetry.Option(counted, nil, telemetry.WithNames(func(*session.Session, string) string {
			<-late
			return ""
		})))
		synctest.Wait()
		require.EqualValues(t, 1, counted.registered.Load())
		recipe.Emit(s, session.Event{Kind: session.EventReleased, Recipe: "lock", Path: "/l"})
		require.NoError(t, s.Close(w.Context()))
		close(late)
		synctest.Wait()
		lines := strings.Join(collect(t, reader), "\n")
		require.NotContains(t, lines, "gauge")
		require.NotContains(t, lines, "updown")
		require.Zero(t, counted.registered.Load())
	})
}

// Each change of state is counted once, and the orderly end is none of the losses.
func TestTransitions(t *testing.T) {
	bubble.Run(t, func(w *bubble.World) {
		provider, reader := meters()
		s := w.Host("a", telemetry.Option(provider, nil))
		connected := func(is string) {
			t.Helper()
			require.Contains(t, collect(t, reader), "gauge troupe.session.connected {connection} {} "+is)
		}
		connected("1")
		heal := s.Machine.Partition()
		time.Sleep(5 * time.Second)
		require.Equal(t, session.Suspended, s.Status().State)
		connected("0")
		time.Sleep(time.Minute)
		require.Equal(t, session.Untrusted, s.Status().State)
		connected("0")
		heal() // the servers have given the session up
		time.Sleep(time.Minute)
		connected("1")
		w.Server.Expire(s.Status().SessionID)
		time.Sleep(time.Minute)
		connected("1")
		require.NoError(t, s.Close(w.Context()))
		const of = "counter troupe.session.transitions {transition} {troupe.session.state="
		require.Equal(t, []string{of + "closed} 1", of + "connected} 3", of + "lost} 2", of + "suspended} 2", of + "untrusted} 1"},
			slices.DeleteFunc(collect(t, reader), func(line string) bool { return !strings.HasPrefix(line, of) }))
	})
}

// Of two options of one session, the one with a TracerProvider keeps the traces of items.
func TestTwoOptions(t *testing.T) {
	bubble.Run(t, func(w *bubble.World) {
		provider, _ := meters()
		tracers := sdktrace.NewTracerProvider()
		s := w.Session(telemetry.Option(nil, tracers), telemetry.Option(provider, nil))
		ctx, span := tracers.Tracer("test").Start(w.Context(), "an order")
		q := must(queue.New(s, "/q"))
		must(q.Put(ctx, nil))
		item := must(q.Take(w.Context()))
		require.Equal(t, span.SpanContext().SpanID(), telemetry.Link(item).SpanContext.SpanID())
		require.NoError(t, s.Close(w.Context()))
	})
}

// Two readers that collect at once, one of them the differences, see each request once.
func TestTwoReaders(t *testing.T) {
	bubble.Run(t, func(w *bubble.World) {
		differences := func(sdkmetric.InstrumentKind) metricdata.Temporality { return metricdata.DeltaTemporality }
		readers := []sdkmetric.Reader{sdkmetric.NewManualReader(), sdkmetric.NewManualReader(sdkmetric.WithTemporalitySelector(differences))}
		s := w.Session(telemetry.Option(sdkmetric.NewMeterProvider(sdkmetric.WithReader(readers[0]), sdkmetric.WithReader(readers[1])), nil))
		var seen [2]uint64
		gets := func(of int) (n uint64) {
			var all metricdata.ResourceMetrics
			if err := readers[of].Collect(context.Background(), &all); err != nil {
				panic(err)
			}
			for _, m := range all.ScopeMetrics[0].Metrics {
				if m.Name != "troupe.request.duration" {
					continue
				}
				for _, p := range m.Data.(metricdata.Histogram[float64]).DataPoints {
					if op, _ := p.Attributes.Value("troupe.request.op"); op.AsString() == "exists" {
						n += p.Count
					}
				}
			}
			return n
		}
		for range 20 {
			_, _, err := s.Exists(w.Context(), "/x")
			require.NoError(t, err)
			synctest.Wait()                   // the session's start is told by now
			go func() { seen[0] = gets(0) }() // waited for by the bubble
			go func() { seen[1] += gets(1) }()
			synctest.Wait()
		}
		require.Equal(t, [2]uint64{20, 20}, [2]uint64{gets(0), seen[1] + gets(1)})
		require.NoError(t, s.Close(w.Context()))
	})
}

// Whatever codes a server makes up are one error.
func TestCodesThatZooKeeperDoesNotHave(t *testing.T) {
	bubble.Run(t, func(w *bubble.World) {
		provider, reader := meters()
		s := w.Session(telemetry.Option(provider, nil))
		var code zktest.Code
		w.Cleanup(w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
			if r.Op == zktest.OpExists {
				return zktest.Fail(code)
			}
			return zktest.Pass
		}))
		for _, code = range []zktest.Code{-77, -78, 155} {
			_, _, err := s.Exists(w.Context(), "/x")
			require.Error(t, err)
		}
		require.Contains(t, collect(t, reader), "histogram troupe.request.duration s {error.type=api_error,troupe.request.op=exists} 3 0")
		require.NoError(t, s.Close(w.Context()))
	})
}
