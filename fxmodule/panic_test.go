package fxmodule_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.uber.org/fx"

	"github.com/troupe-go/troupe/fxmodule"
	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
)

// put puts items into a queue of the application's session.
func put(t *testing.T, s *session.Session, path string, items ...string) *queue.Queue {
	t.Helper()
	q, err := queue.New(s, path)
	require.NoError(t, err)
	for _, item := range items {
		_, err := q.Put(bubble.Minute(t), []byte(item))
		require.NoError(t, err)
	}
	return q
}

// Consume works on n items at once, however many these are, and claims no more than it works on.
func TestConsumeWorksOnNAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const n = 40
		var s *session.Session
		var mu sync.Mutex
		now, most := 0, 0
		a := app(t, fx.Supply(fxmodule.Config{Embedded: true}), fx.Populate(&s), fxmodule.Queue("jobs", "/q"),
			fxmodule.Consume("jobs", n, func(context.Context, *queue.Item) error {
				mu.Lock()
				now++
				most = max(most, now)
				mu.Unlock()
				time.Sleep(time.Second)
				mu.Lock()
				now--
				mu.Unlock()
				return nil
			}))
		q := put(t, s, "/q", make([]string, 2*n)...)
		time.Sleep(500 * time.Millisecond)
		mu.Lock()
		require.Equal(t, n, most)
		mu.Unlock()
		free, err := queue.New(s, "/q")
		require.NoError(t, err)
		i, err := free.Take(bubble.Minute(t))
		require.NoError(t, err, "what is not worked on is there for others")
		require.NoError(t, i.Ack(bubble.Minute(t)))
		time.Sleep(time.Minute)
		left, err := q.Len(bubble.Minute(t))
		require.NoError(t, err)
		require.Zero(t, left)
		require.NoError(t, a.Stop(bubble.Minute(t)))
	})
}

// doubled is a pause of a second, doubled with each attempt, without chance.
func doubled() queue.Option {
	return queue.WithBackoff(func(attempt int) time.Duration { return time.Second << (attempt - 1) })
}

// A job that panics costs its item an attempt and a pause, a longer one each time, and nothing
// else: at last it is among the dead letters.
func TestAJobThatPanics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reader := sdkmetric.NewManualReader()
		var log buffer
		var s *session.Session
		at := make(chan time.Duration, 10)
		begun := time.Now()
		done := make(chan string, 10)
		a := app(t, fx.Supply(fxmodule.Config{Embedded: true}), fx.Supply(slog.New(slog.NewTextHandler(&log, nil))), fx.Populate(&s),
			fx.Provide(func() metric.MeterProvider { return sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)) }),
			fxmodule.Queue("jobs", "/q", queue.WithMaxAttempts(3), queue.WithDeadLetters("/dead"), doubled()),
			fxmodule.Consume("jobs", 2, func(_ context.Context, i *queue.Item) error {
				if string(i.Data()) == "bad" {
					at <- time.Since(begun).Round(time.Second / 10)
					panic("out of paper")
				}
				done <- string(i.Data())
				return nil
			}))
		put(t, s, "/q", "bad", "good", "better", "best")
		for range 3 {
			bubble.Within(t, time.Minute, done)
		}
		require.Less(t, time.Since(begun), time.Second, "the others do not wait for it")
		time.Sleep(time.Minute)
		require.Len(t, at, 3)
		require.Equal(t, []time.Duration{0, time.Second, 3 * time.Second}, []time.Duration{<-at, <-at, <-at})
		letters, err := put(t, s, "/dead").Take(bubble.Minute(t))
		require.NoError(t, err)
		require.Equal(t, "bad", string(letters.Data()))
		require.NoError(t, letters.Ack(bubble.Minute(t)))
		require.Equal(t, map[string]int64{"panicked": 3, "acknowledged": 3}, outcomes(t, reader))
		require.Contains(t, log.String(), "out of paper")
		require.Contains(t, log.String(), "panic_test.go", "its stack")
		require.NoError(t, a.Stop(bubble.Minute(t)))
	})
}

// A stop does not wait for the pause of an item. Under queue.WithAutoAck nothing goes back.
func TestAStopEndsThePause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s *session.Session
		var q *queue.Queue
		reader := sdkmetric.NewManualReader()
		a := app(t, fx.Supply(fxmodule.Config{Embedded: true}), fx.Populate(&s),
			fx.Provide(func() metric.MeterProvider { return sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)) }),
			fxmodule.Queue("jobs", "/q", doubled()), fxmodule.Queue("odd", "/odd"),
			fx.Invoke(func(lc fx.Lifecycle) {
				lc.Append(fx.Hook{OnStop: func(ctx context.Context) error {
					n, err := q.Len(ctx)
					require.Equal(t, 1, n)
					return err
				}})
			}),
			fxmodule.Consume("jobs", 1, func(context.Context, *queue.Item) error { panic("out of paper") }),
			fxmodule.Consume("odd", 1, func(context.Context, *queue.Item) error { panic("out of ink") }, queue.WithAutoAck()))
		q = put(t, s, "/q", "bad")
		odd := put(t, s, "/odd", "bad")
		time.Sleep(16 * time.Second)
		n, err := odd.Len(bubble.Minute(t))
		require.NoError(t, err)
		require.Zero(t, n)
		begun := time.Now()
		require.NoError(t, a.Stop(bubble.Minute(t)))
		require.Less(t, time.Since(begun), time.Second)
		require.Equal(t, map[string]int64{"panicked": 6}, outcomes(t, reader))
	})
}

// A leader's function that panics ends the application, and its term is resigned: others lead at
// once.
func TestALeaderThatPanics(t *testing.T) {
	t.Parallel()
	srv, cfg := servers(t)
	var log buffer
	a := app(t, cfg, fx.Supply(slog.New(slog.NewTextHandler(&log, nil))), fxmodule.Election("reports", "/e"),
		fxmodule.RunLeader("reports", func(context.Context, *election.Term) error { panic("out of paper") }))
	require.Equal(t, 1, bubble.Within(t, time.Minute, a.Wait()).ExitCode)
	other, err := session.Open(bubble.Minute(t), srv.Servers())
	require.NoError(t, err)
	defer other.Close(bubble.Minute(t))
	names, _, err := other.Children(bubble.Minute(t), "/e")
	if !errors.Is(err, session.ErrNoNode) { // it was a container, which goes when it is empty
		require.NoError(t, err)
		require.Empty(t, names, "the term is resigned")
	}
	require.Contains(t, log.String(), "out of paper")
	require.Contains(t, log.String(), "panic_test.go", "its stack")
	require.NoError(t, a.Stop(bubble.Minute(t)))
}

// So does one that panics when its term is over.
func TestALeaderThatPanicsWithItsTerm(t *testing.T) {
	t.Parallel()
	_, cfg := servers(t)
	var s *session.Session
	leads := make(chan *election.Term, 1)
	a := app(t, cfg, fx.Populate(&s), fxmodule.Election("reports", "/e"),
		fxmodule.RunLeader("reports", func(ctx context.Context, term *election.Term) error {
			leads <- term
			<-ctx.Done()
			panic("out of paper")
		}))
	require.NoError(t, s.Delete(bubble.Minute(t), bubble.Within(t, time.Minute, leads).Path(), -1))
	require.Equal(t, 1, bubble.Within(t, time.Minute, a.Wait()).ExitCode)
	require.NoError(t, a.Stop(bubble.Minute(t)))
}
