package telemetry_test

// What each instrument measures, what the spans say, and what the names are.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/telemetry"
	"github.com/troupe-go/troupe/zktest"
)

func TestMain(m *testing.M) { tier.Main(m) }

// meters is a provider and its reader.
func meters() (metric.MeterProvider, sdkmetric.Reader) {
	reader := sdkmetric.NewManualReader()
	return sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)), reader
}

// collect returns a line for each measurement: kind, name, unit, attributes, value. The value of a
// histogram is the number of its measurements and their sum.
func collect(t testing.TB, reader sdkmetric.Reader) (lines []string) {
	t.Helper()
	synctest.Wait() // the events so far are told by then
	var all metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(context.Background(), &all))
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			add := func(kind string, of attribute.Set, value any) {
				lines = append(lines, fmt.Sprintf("%s %s %s {%s} %v", kind, m.Name, m.Unit, of.Encoded(attribute.DefaultEncoder()), value))
			}
			switch data := m.Data.(type) {
			case metricdata.Gauge[int64]:
				for _, p := range data.DataPoints {
					add("gauge", p.Attributes, p.Value)
				}
			case metricdata.Gauge[float64]:
				for _, p := range data.DataPoints {
					add("gauge", p.Attributes, p.Value)
				}
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					add(map[bool]string{true: "counter", false: "updown"}[data.IsMonotonic], p.Attributes, p.Value)
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					add("histogram", p.Attributes, fmt.Sprintf("%d %.9g", p.Count, p.Sum))
				}
			default:
				t.Fatalf("%s: %T", m.Name, data)
			}
		}
	}
	slices.Sort(lines)
	return lines
}

// Each instrument: its kind, unit, attributes and value. Nothing is measured that is not here, and
// no attribute has a credential, a process's name or the text of an error.
func TestInstruments(t *testing.T) {
	bubble.Run(t, func(w *bubble.World) {
		provider, reader := meters()
		opt := telemetry.Option(provider, nil, telemetry.WithSessionName("main"), telemetry.WithNames(func(_ *session.Session, path string) string {
			return map[string]string{"/e": "reports", "/q": "jobs"}[path]
		}))
		letGo := make(chan struct{})
		defer close(letGo)
		blocks := session.WithEvents(func(*session.Session, session.Event) { <-letGo })
		s := w.Unconnected(opt, blocks, session.WithAuth("digest", []byte("ann:secret")), session.WithIdentity("secret process"), session.WithTimeout(9*time.Second))
		require.Empty(t, collect(t, reader), "nothing before it starts")
		require.NoError(t, s.Connect(w.Context()))
		e := must(election.New(s, "/e", election.WithName("secret name")))
		e.Campaign()
		term := bubble.Get(t, e.Leader())
		held, asks := must(lock.New(s, "/locks/17")), must(lock.New(s, "/locks/18"))
		must(held.Lock(w.Context()))
		other := must(lock.New(w.Session(), "/locks/18"))
		must(other.Lock(w.Context()))
		go func() { _, _ = asks.Lock(w.Context()) }() // ends with the session
		_, err := s.Set(w.Context(), "/secret", nil, -1)
		require.ErrorIs(t, err, session.ErrNoNode)
		require.NoError(t, s.Delete(w.Context(), must(e.Candidates(w.Context()))[0].Path, -1))
		<-term.Done()
		term = bubble.Get(t, e.Leader())
		for _, ev := range []session.Event{
			{Kind: session.EventStalled, Took: 2 * time.Second},
			{Kind: session.EventRestarted, Recipe: "lock", Path: "/l"},
			{Kind: session.EventGranted, Recipe: "lock", Path: "/l", Took: 3 * time.Second},
			{Kind: session.EventWithdrawn, Recipe: "lock", Path: "/l", Took: 4 * time.Second},
			{Kind: session.EventWithdrawn, Recipe: "lock", Path: "/l", Took: 5 * time.Second, Err: fmt.Errorf("secret: %w", context.DeadlineExceeded)},
			{Kind: session.EventWithdrawn, Recipe: "lock", Path: "/l", Err: lock.ErrHeld},
			{Kind: session.EventReleased, Recipe: "lock", Path: "/l", Took: time.Second},
			{Kind: session.EventLost, Recipe: "lock", Path: "/l", Took: time.Minute, Err: fmt.Errorf("secret: %w", session.ErrExpired)},
			{Kind: session.EventLost, Recipe: "lock", Path: "/l", Took: time.Hour, Err: fmt.Errorf("%w: %w", session.ErrClosed, session.ErrAuthFailed)},
			{Kind: session.EventItemPut, Recipe: "queue", Path: "/q", Attempt: 7, Took: 20 * time.Millisecond},
			{Kind: session.EventItemPut, Recipe: "queue", Path: "/q", Attempt: 1, To: "full", Took: time.Millisecond, Err: fmt.Errorf("secret: %w", queue.ErrFull)},
			{Kind: session.EventItemClaimed, Recipe: "queue", Path: "/q", Took: time.Hour},
			{Kind: session.EventItemSettled, Recipe: "queue", Path: "/q", To: "acknowledged", Took: 400 * time.Millisecond},
			{Kind: session.EventItemSettled, Recipe: "queue", Path: "/q", To: "returned", Took: 4 * time.Second},
			{Kind: session.EventItemSettled, Recipe: "queue", Path: "/q", To: "lost", Took: 5 * time.Second, Err: errors.New("secret")},
		} {
			recipe.Emit(s, ev)
		}
		for n := range 1100 {
			recipe.Emit(s, session.Event{Kind: session.EventState})
			if n%100 == 0 {
				synctest.Wait() // this option's function keeps up
			}
		}
		time.Sleep(4 * time.Second)
		snap := s.Snapshot()
		require.Greater(t, snap.Dropped, uint64(1100-1024))
		lines := collect(t, reader)
		const named = `{troupe.session.name=main} `
		of := func(recipe, name string) string {
			return `{troupe.name=` + name + `,troupe.recipe=` + recipe + `,troupe.session.name=main} `
		}
		item := func(operation, failed string) string {
			return `{` + failed + `messaging.destination.name=jobs,messaging.operation.name=` + operation + `,messaging.system=troupe,troupe.session.name=main} `
		}
		table := []string{
			"gauge troupe.session.connected {connection} " + named + "1",
			"gauge troupe.session.timeout s " + named + "9",
			"gauge troupe.session.trust.remaining s " + named + fmt.Sprint(snap.Status.TrustedUntil.Sub(snap.Time).Seconds()),
			"counter troupe.session.transitions {transition} {troupe.session.name=main,troupe.session.state=connected} 1",
			"histogram troupe.session.stall.duration s " + named + "1 2",
			"histogram troupe.request.duration s {error.type=no_node,troupe.request.op=setData,troupe.session.name=main} 1 0",
			"updown troupe.request.active {request} {troupe.request.op=setData,troupe.session.name=main} 0",
			"histogram troupe.possession.wait.duration s " + of("lock", "/l") + "1 3",
			"histogram troupe.possession.wait.duration s {error.type=withdrawn,troupe.name=/l,troupe.recipe=lock,troupe.session.name=main} 1 4",
			"histogram troupe.possession.wait.duration s {error.type=timeout,troupe.name=/l,troupe.recipe=lock,troupe.session.name=main} 1 5",
			"histogram troupe.possession.wait.duration s {error.type=held,troupe.name=/l,troupe.recipe=lock,troupe.session.name=main} 1 0",
			"histogram troupe.possession.hold.duration s " + of("lock", "/l") + "1 1",
			"histogram troupe.possession.hold.duration s {error.type=expired,troupe.name=/l,troupe.recipe=lock,troupe.session.name=main} 1 60",
			"counter troupe.possession.losses {possession} {error.type=expired,troupe.name=/l,troupe.recipe=lock,troupe.session.name=main} 1",
			"histogram troupe.possession.hold.duration s {error.type=auth_failed,troupe.name=/l,troupe.recipe=lock,troupe.session.name=main} 1 3600",
			"counter troupe.possession.losses {possession} {error.type=auth_failed,troupe.name=/l,troupe.recipe=lock,troupe.session.name=main} 1",
			"gauge troupe.possession.held {possession} " + of("lock", "/locks/#") + "1",
			"gauge troupe.possession.waiting {possession} " + of("lock", "/locks/#") + "1",
			"gauge troupe.possession.hold.age s " + of("election", "reports") + "4",
			"gauge troupe.possession.held {possession} " + of("election", "reports") + "1",
			"gauge troupe.election.leading {leader} {troupe.name=reports,troupe.session.name=main} 1",
			"gauge troupe.election.token {token} {troupe.name=reports,troupe.session.name=main} " + fmt.Sprint(term.Token()),
			"histogram messaging.client.operation.duration s " + item("put", "") + "1 0.02",
			"histogram messaging.client.operation.duration s " + item("put", "error.type=full,") + "1 0.001",
			"counter messaging.client.sent.messages {message} " + item("put", "") + "7",
			"counter messaging.client.sent.messages {message} " + item("put", "error.type=full,") + "1",
			"counter messaging.client.consumed.messages {message} " + item("claim", "") + "1",
			"histogram messaging.process.duration s " + item("process", "") + "1 0.4",
			"histogram messaging.process.duration s " + item("process", "error.type=returned,") + "1 4",
			"histogram messaging.process.duration s " + item("process", "error.type=_OTHER,") + "1 5",
			"counter troupe.actor.restarts {restart} {troupe.recipe=lock,troupe.session.name=main} 1",
			"gauge troupe.watch.count {watch} " + named + fmt.Sprint(snap.Watches),
			"counter troupe.events.dropped {event} " + named + fmt.Sprint(snap.Dropped),
		}
		require.Subset(t, lines, table)
		require.Equal(t, instruments(table), instruments(lines))
		require.NotContains(t, strings.Join(lines, "\n"), "secret")

		require.NoError(t, s.Close(w.Context()))
		lines = collect(t, reader)
		require.Contains(t, lines, "counter troupe.session.transitions {transition} {troupe.session.name=main,troupe.session.state=closed} 1")
		require.NotContains(t, strings.Join(lines, "\n"), "gauge", "it is not observed any more")
		require.Contains(t, strings.Join(lines, "\n"), "troupe.possession.hold.duration s {error.type=closed,troupe.name=/locks/#,")
		require.NotContains(t, strings.Join(lines, "\n"), "losses {possession} {error.type=closed,", "the application's own close is no loss")
	})
}

// instruments are the names of the instruments in lines.
func instruments(lines []string) []string {
	var all []string
	for _, line := range lines {
		all = append(all, strings.Fields(line)[1])
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Requests are counted in the bucket of the time that they took, and their sum is right, however
// often metrics are collected.
func TestRequests(t *testing.T) {
	bubble.Run(t, func(w *bubble.World) {
		provider, reader := meters()
		s := w.Session(telemetry.Option(provider, nil))
		takes := 3 * time.Millisecond
		w.Cleanup(w.Server.Intercept(func(r *zktest.Request) zktest.Verdict {
			if r.Op == zktest.OpGetData {
				return zktest.Delay(takes)
			}
			return zktest.Pass
		}))
		for _, takes = range []time.Duration{3 * time.Millisecond, 4 * time.Millisecond, 40 * time.Millisecond} {
			_, _, err := s.Get(w.Context(), "/")
			require.NoError(t, err)
			if takes > 3*time.Millisecond {
				collect(t, reader)
			}
		}
		require.Contains(t, collect(t, reader), "histogram troupe.request.duration s {troupe.request.op=getData} 3 0.047")
		var all metricdata.ResourceMetrics
		require.NoError(t, reader.Collect(context.Background(), &all))
		for _, m := range all.ScopeMetrics[0].Metrics {
			if m.Name != "troupe.request.duration" {
				continue
			}
			for _, p := range m.Data.(metricdata.Histogram[float64]).DataPoints {
				if op, _ := p.Attributes.Value("troupe.request.op"); op.AsString() == "getData" {
					require.Equal(t, []uint64{0, 0, 0, 2, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0}, p.BucketCounts)
				}
			}
		}
		const active = "updown troupe.request.active {request} {troupe.request.op=getData} "
		takes = time.Second
		ended := bubble.Begin(func() error { _, _, err := s.Get(w.Context(), "/"); return err })
		require.Contains(t, collect(t, reader), active+"1")
		require.NoError(t, <-ended)
		require.Contains(t, collect(t, reader), active+"0")
		require.NoError(t, s.Close(w.Context()))
	})
}

// The buckets of a job's time and of a possession's tell seconds from milliseconds.
func TestBuckets(t *testing.T) {
	bubble.Run(t, func(w *bubble.World) {
		provider, reader := meters()
		s := w.Session(telemetry.Option(provider, nil))
		for _, took := range []time.Duration{20 * time.Millisecond, 400 * time.Millisecond, 4 * time.Second} {
			for _, kind := range []session.EventKind{session.EventStalled, session.EventGranted, session.EventReleased, session.EventItemPut} {
				recipe.Emit(s, session.Event{Kind: kind, Path: "/q", Took: took})
			}
			recipe.Emit(s, session.Event{Kind: session.EventItemSettled, Path: "/q", To: "acknowledged", Took: took})
		}
		require.NoError(t, s.Close(w.Context()))
		var all metricdata.ResourceMetrics
		require.NoError(t, reader.Collect(context.Background(), &all))
		bounds := make(map[string][]float64)
		for _, m := range all.ScopeMetrics[0].Metrics {
			if data, is := m.Data.(metricdata.Histogram[float64]); is {
				bounds[m.Name] = data.DataPoints[0].Bounds
				filled := slices.DeleteFunc(data.DataPoints[0].BucketCounts, func(n uint64) bool { return n == 0 })
				if m.Name != "troupe.request.duration" {
					require.Equal(t, []uint64{1, 1, 1}, filled, m.Name)
				}
			}
		}
		long := []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600}
		messaging := []float64{0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10}
		require.Equal(t, map[string][]float64{
			"troupe.session.stall.duration":       long,
			"troupe.possession.wait.duration":     long,
			"troupe.possession.hold.duration":     long,
			"messaging.client.operation.duration": messaging,
			"messaging.process.duration":          messaging,
			"troupe.request.duration":             {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10},
		}, bounds)
	})
}

// Two leaders of one name are seen, and which of them is newer: here, since the processes were told
// of different servers.
func TestTwoLeaders(t *testing.T) {
	bubble.Run(t, func(w *bubble.World) {
		there := zktest.Start(w)
		var tokens []string
		for i, s := range []func(...session.Option) *session.Session{w.Session, func(opts ...session.Option) *session.Session {
			return must(session.Open(w.Context(), there.Hosts(), append(opts, session.WithDialer(there.Dialer()))...))
		}} {
			provider, reader := meters()
			s := s(telemetry.Option(provider, nil))
			for range i { // the token is greater there
				require.NoError(t, s.EnsurePath(w.Context(), "/a/b/c"))
			}
			e := must(election.New(s, "/e", election.WithName(fmt.Sprint("process ", i))))
			e.Campaign()
			token := bubble.Get(t, e.Leader()).Token()
			lines := collect(t, reader)
			require.Contains(t, lines, "gauge troupe.election.leading {leader} {troupe.name=/e} 1")
			require.Contains(t, lines, fmt.Sprint("gauge troupe.election.token {token} {troupe.name=/e} ", token))
			tokens = append(tokens, fmt.Sprint(token))
			require.NoError(t, s.Close(w.Context()))
		}
		require.NotEqual(t, tokens[0], tokens[1])
	})
}

// The name of a recipe is its path without GUIDs and numbers; from the 101st on it is "other".
func TestNames(t *testing.T) {
	bubble.Run(t, func(w *bubble.World) {
		provider, reader := meters()
		s := w.Session(telemetry.Option(provider, nil))
		for path, want := range map[string]string{
			"/e": "/e", "/": "/", "/orders/17/lock": "/orders/#/lock", "/a-0000000012": "/a-#", "/v2/x": "/v#/x",
			"/785f382b-e731-41f4-8cca-5ea92772a5c2": "/#", "/_c_785F382B-E731-41F4-8CCA-5EA92772A5C2-lock-0000000001": "/_c_#-lock-#",
			"/785f382be73141f48cca5ea92772a5c2/x": "/#/x", "/é7": "/é#", "/" + strings.Repeat("é", 200): "/" + strings.Repeat("é", 127), "/facade": "/facade",
		} {
			recipe.Emit(s, session.Event{Kind: session.EventReleased, Recipe: "lock", Path: path, Took: time.Second})
			time.Sleep(time.Millisecond)
			require.Contains(t, strings.Join(collect(t, reader), "\n"), "{troupe.name="+strings.NewReplacer("=", `\=`, ",", `\,`).Replace(want)+",troupe.recipe=lock} ", path)
		}
		for n := range 200 {
			recipe.Emit(s, session.Event{Kind: session.EventReleased, Recipe: "lock", Path: "/" + strings.Repeat("x", n+1)})
		}
		require.NoError(t, s.Close(w.Context()))
		lines := slices.DeleteFunc(collect(t, reader), func(line string) bool { return !strings.Contains(line, "hold.duration") })
		require.Len(t, lines, 101)
		require.Contains(t, strings.Join(lines, "\n"), "{troupe.name=other,troupe.recipe=lock} ")
	})
}

// A wait for a term that is won is a span, which is there while the term lasts.
func TestTheSpanOfAnElection(t *testing.T) {
	bubble.Run(t, func(w *bubble.World) {
		spans := tracetest.NewSpanRecorder()
		s := w.Session(telemetry.Option(nil, sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))))
		rival := must(election.New(w.Session(), "/e"))
		rival.Campaign()
		first := bubble.Get(t, rival.Leader())
		e := must(election.New(s, "/e"))
		e.Campaign()
		time.Sleep(time.Minute)
		require.NoError(t, rival.Close(w.Context()))
		<-first.Done()
		term := bubble.Get(t, e.Leader())
		time.Sleep(time.Second)
		require.Len(t, spans.Ended(), 1)
		won := spans.Ended()[0]
		require.Equal(t, "troupe.election.won", won.Name())
		require.Equal(t, time.Minute, won.EndTime().Sub(won.StartTime()).Round(time.Second))
		require.Equal(t, []attribute.KeyValue{attribute.String("troupe.name", "/e"), attribute.Int64("troupe.token", term.Token())}, won.Attributes())
		require.NoError(t, s.Close(w.Context()))
	})
}

// The trace of a Put travels with the item, unless the Put sets one; without a TracerProvider none
// does.
func TestLink(t *testing.T) {
	bubble.Run(t, func(w *bubble.World) {
		provider := sdktrace.NewTracerProvider()
		ctx, span := provider.Tracer("test").Start(w.Context(), "an order")
		const given = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01"
		s, untraced := w.Session(telemetry.Option(nil, provider)), w.Session()
		q := must(queue.New(s, "/q"))
		must(q.Put(ctx, []byte("a"), queue.WithHeader("kind", "order")))
		must(q.Put(ctx, nil, queue.WithHeader("traceparent", given)))
		must(q.Put(w.Context(), nil))
		must(must(queue.New(untraced, "/q")).Put(ctx, nil))
		var links []string
		for range 4 {
			item := must(must(queue.New(untraced, "/q")).Take(w.Context()))
			links = append(links, fmt.Sprint(telemetry.Link(item).SpanContext.SpanID(), item.Header("kind")))
			require.NoError(t, item.Ack(w.Context()))
		}
		require.Equal(t, []string{span.SpanContext().SpanID().String() + "order", "0123456789abcdef", "0000000000000000", "0000000000000000"}, links)
		require.NoError(t, s.Close(w.Context()))
		require.NoError(t, untraced.Close(w.Context()))
	})
}

// Settings that make no sense are refused by session.New, by name. Nil providers stand for none.
func TestSettings(t *testing.T) {
	for _, c := range []struct {
		set  telemetry.Setting
		says string
	}{
		{nil, "telemetry.Option: opts[0]: nil"},
		{telemetry.WithSessionName(""), "telemetry.Option: WithSessionName: name: empty"},
		{telemetry.WithNames(nil), "telemetry.Option: WithNames: f: nil"},
	} {
		_, err := session.New([]string{"a"}, telemetry.Option(nil, nil, c.set))
		require.ErrorContains(t, err, c.says)
	}
	s, err := session.New([]string{"a"}, telemetry.Option(nil, nil))
	require.NoError(t, err)
	require.NoError(t, s.Close(context.Background()))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
