package fxmodule_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/fx"

	"github.com/troupe-go/troupe/fxmodule"
	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/barrier"
	"github.com/troupe-go/troupe/recipes/config"
	"github.com/troupe-go/troupe/recipes/group"
	"github.com/troupe-go/troupe/recipes/naming"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/recipes/twopc"
	"github.com/troupe-go/troupe/session"
)

// fill opens a session of its own and puts items into a queue.
func fill(t *testing.T, servers []string, items ...string) *queue.Queue {
	t.Helper()
	s, err := session.Open(bubble.Minute(t), servers)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close(bubble.Minute(t)) })
	q, err := queue.New(s, "/q")
	require.NoError(t, err)
	for _, item := range items {
		_, err := q.Put(bubble.Minute(t), []byte(item))
		require.NoError(t, err)
	}
	return q
}

func TestConsume(t *testing.T) {
	t.Parallel()
	srv, cfg := servers(t)
	q := fill(t, srv.Servers(), "a", "b", "c", "d")
	reader := sdkmetric.NewManualReader()
	done := make(chan string, 10)
	a := app(t, cfg, fx.Provide(func() metric.MeterProvider { return sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)) }),
		fxmodule.Queue("jobs", "/q"),
		fxmodule.Consume("jobs", 2, func(_ context.Context, i *queue.Item) error {
			if string(i.Data()) == "b" && i.Attempt() == 1 {
				return errors.New("not in the mood")
			}
			done <- fmt.Sprintf("%s%d", i.Data(), i.Attempt())
			return nil
		}))
	var got []string
	for range 4 {
		got = append(got, bubble.Within(t, time.Minute, done))
	}
	require.ElementsMatch(t, []string{"a1", "b2", "c1", "d1"}, got)
	require.NoError(t, a.Stop(bubble.Minute(t)))
	left, err := q.Len(bubble.Minute(t))
	require.NoError(t, err)
	require.Zero(t, left)
	require.InDelta(t, 5, collect(t, reader)["troupe.queue.duration"], 0)
	require.Equal(t, map[string]int64{"acknowledged": 4, "returned": 1}, outcomes(t, reader))
}

// TestOutcomes: what is lost, and what is taken for good, is counted as what it is.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	srv, cfg := servers(t)
	q := fill(t, srv.Servers(), "good", "bad")
	reader := sdkmetric.NewManualReader()
	var s *session.Session
	begun, done := make(chan struct{}), make(chan struct{}, 2)
	meters := fx.Provide(func() metric.MeterProvider { return sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)) })
	a := app(t, cfg, meters, fxmodule.Queue("jobs", "/q"),
		fxmodule.Consume("jobs", 1, func(_ context.Context, i *queue.Item) error {
			defer func() { done <- struct{}{} }()
			if string(i.Data()) == "bad" {
				return errors.New("no good")
			}
			return nil
		}, queue.WithAutoAck()))
	bubble.Within(t, time.Minute, done)
	bubble.Within(t, time.Minute, done)
	require.NoError(t, a.Stop(bubble.Minute(t)))
	require.Equal(t, map[string]int64{"done": 1, "failed": 1}, outcomes(t, reader))

	_, err := q.Put(bubble.Minute(t), []byte("lost"))
	require.NoError(t, err)
	reader = sdkmetric.NewManualReader()
	a = app(t, fx.Supply(fxmodule.Default(srv.Servers()...)), meters, fx.Populate(&s), fxmodule.Queue("jobs", "/q"),
		fxmodule.Consume("jobs", 1, func(ctx context.Context, i *queue.Item) error {
			if i.Attempt() == 1 {
				close(begun)
				<-ctx.Done() // its session ends
			} else {
				done <- struct{}{}
			}
			return nil
		}))
	bubble.Within(t, time.Minute, begun)
	srv.Expire(s.Status().SessionID)
	bubble.Within(t, time.Minute, done)
	require.NoError(t, a.Stop(bubble.Minute(t)))
	require.Equal(t, map[string]int64{"lost": 1, "acknowledged": 1}, outcomes(t, reader))
}

// outcomes are what troupe.queue.items counted.
func outcomes(t *testing.T, reader sdkmetric.Reader) map[string]int64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(context.Background(), &all))
	counted := map[string]int64{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name != "troupe.queue.items" {
				continue
			}
			sum, isSum := m.Data.(metricdata.Sum[int64])
			require.True(t, isSum)
			for _, p := range sum.DataPoints {
				outcome, named := p.Attributes.Value("outcome")
				require.True(t, named)
				counted[outcome.AsString()] += p.Value
			}
		}
	}
	return counted
}

// TestAStopFinishesTheWorkInHand: what a worker has is finished and acknowledged, and what none has
// goes back.
func TestAStopFinishesTheWorkInHand(t *testing.T) {
	t.Parallel()
	srv, cfg := servers(t)
	q := fill(t, srv.Servers(), "a", "b", "c")
	begun, finish := make(chan struct{}, 3), make(chan struct{})
	var finished atomic.Int32
	a := app(t, cfg, fxmodule.Queue("jobs", "/q"), fxmodule.Consume("jobs", 1, func(context.Context, *queue.Item) error {
		begun <- struct{}{}
		<-finish
		finished.Add(1)
		return nil
	}))
	bubble.Within(t, time.Minute, begun)
	stopped := make(chan error, 1)
	go func() { stopped <- a.Stop(bubble.Minute(t)) }()
	select {
	case <-stopped:
		require.Fail(t, "it did not wait")
	case <-time.After(100 * time.Millisecond):
	}
	close(finish)
	require.NoError(t, bubble.Within(t, time.Minute, stopped))
	require.EqualValues(t, 1, finished.Load())
	left, err := q.Len(bubble.Minute(t))
	require.NoError(t, err)
	require.Equal(t, 2, left)
	next, err := q.Take(bubble.Minute(t))
	require.NoError(t, err, "at once: nothing waits for a session to expire")
	require.Equal(t, "b", string(next.Data()))
	require.NoError(t, next.Ack(bubble.Minute(t)))
}

// TestAStopDoesNotWaitForEver: work that does not end is cut off with the stop, and its item goes
// to others.
func TestAStopDoesNotWaitForEver(t *testing.T) {
	t.Parallel()
	srv, cfg := servers(t)
	fill(t, srv.Servers(), "a")
	begun, ended := make(chan struct{}), make(chan error, 1)
	a := app(t, cfg, fxmodule.Queue("jobs", "/q"), fxmodule.Consume("jobs", 1, func(ctx context.Context, _ *queue.Item) error {
		close(begun)
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return ctx.Err()
	}))
	bubble.Within(t, time.Minute, begun)
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	require.NoError(t, a.Stop(ctx))
	require.ErrorIs(t, bubble.Within(t, time.Minute, ended), session.ErrLost)
	require.Len(t, srv.Sessions(), 1, "its session is closed all the same")
}

func TestConsumeRefusesNonsense(t *testing.T) {
	t.Parallel()
	fn := func(context.Context, *queue.Item) error { return nil }
	require.ErrorContains(t, fx.New(quiet, fxmodule.Consume("", 1, fn)).Err(), "name")
	require.ErrorContains(t, fx.New(quiet, fxmodule.Consume("q", 0, fn)).Err(), "n: 0 is not between")
	require.ErrorContains(t, fx.New(quiet, fxmodule.Consume("q", 10_001, fn)).Err(), "n: 10001 is not between")
	require.ErrorContains(t, fx.New(quiet, fxmodule.Consume("q", 1, nil)).Err(), "fn is nil")
}

// TestTheOtherInstances are there under their names, and are over with the application.
func TestTheOtherInstances(t *testing.T) {
	t.Parallel()
	_, cfg := servers(t)
	var all struct {
		fx.In
		Gate        *barrier.Barrier   `name:"gate"`
		Rounds      *barrier.Double    `name:"rounds"`
		Coordinator *twopc.Coordinator `name:"books"`
		Site        *twopc.Site        `name:"books"`
		Rate        *config.Cell[int]  `name:"rate"`
		Names       *naming.Names      `name:"services"`
		Workers     *group.Group       `name:"workers"`
	}
	a := app(t, cfg, fxmodule.Barrier("gate", "/gate"), fxmodule.DoubleBarrier("rounds", "/rounds", 2),
		fxmodule.Coordinator("books", "/tx"), fxmodule.Site("books", "/tx"),
		fxmodule.Cell("rate", "/rate", config.JSON[int]()), fxmodule.Names("services", "/names"),
		fxmodule.Group("workers", "/workers"), fx.Populate(&all))
	require.NoError(t, all.Gate.Wait(bubble.Minute(t)), "it was never raised")
	tx, err := all.Coordinator.Begin(bubble.Minute(t), "one", []byte("x"), "books")
	require.NoError(t, err)
	p := bubble.Within(t, time.Minute, all.Site.Proposals())
	require.Equal(t, tx.ID(), p.ID())
	require.NoError(t, p.Commit(bubble.Minute(t)))
	bubble.Within(t, time.Minute, tx.Decided())
	require.Equal(t, twopc.Committed, tx.Outcome())
	rate, err := all.Rate.Update(bubble.Minute(t), func(n int) (int, error) { return n + 7, nil })
	require.NoError(t, err)
	require.Equal(t, 7, rate.Value)
	require.NoError(t, all.Names.Bind(bubble.Minute(t), "billing", []byte("10.0.0.7")))
	me, err := all.Workers.Join(group.Member{ID: "me"})
	require.NoError(t, err)
	bubble.Within(t, time.Minute, me.Joined())
	require.NoError(t, a.Stop(bubble.Minute(t)))
	require.ErrorIs(t, me.Err(), session.ErrClosed)
	for _, err := range []error{all.Rounds.Err(), all.Coordinator.Err(), all.Site.Err(), all.Rate.Err()} {
		require.ErrorIs(t, err, session.ErrClosed)
	}
}
