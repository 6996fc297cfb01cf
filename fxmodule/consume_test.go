package fxmodule_test

// Consume: what becomes of items, of work that panics, and of work in hand at a stop.
// Helpers: app_test.go.

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/troupe-go/troupe/fxmodule"
	"github.com/troupe-go/troupe/fxmodule/fxtest"
	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// Each outcome of an item that was not processed is logged under its name, also under WithAutoAck.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	srv, cfg := servers(t)
	other := bubble.Open(t, srv.Servers())
	put(t, other, "/auto", "good", "bad")
	logs, log := logged()
	var s *session.Session
	done := make(chan string, 10)
	a := app(t, cfg, logs, fx.Populate(&s), fxmodule.Queue("jobs", "/q"), fxmodule.Queue("auto", "/auto"),
		fxmodule.Consume("auto", 1, func(_ context.Context, i *queue.Item) error {
			defer func() { done <- string(i.Data()) }()
			if string(i.Data()) == "bad" {
				return errors.New("no good")
			}
			return nil
		}, queue.WithAutoAck()),
		fxmodule.Consume("jobs", 2, func(ctx context.Context, i *queue.Item) error {
			switch what := string(i.Data()); {
			case i.Attempt() == 1 && what == "returned":
				return errors.New("not in the mood")
			case i.Attempt() == 1 && what == "lost":
				srv.Expire(s.Status().SessionID)
				<-ctx.Done()
				return nil
			default:
				done <- fmt.Sprint(what, i.Attempt())
				return nil
			}
		}))
	var got []string
	await := func(n int) {
		for range n {
			got = append(got, bubble.Within(t, time.Minute, done))
		}
	}
	await(2)
	q := put(t, other, "/q", "a", "returned", "b")
	await(3)
	require.Eventually(t, func() bool { return length(t, q) == 0 }, time.Minute, time.Millisecond)
	put(t, other, "/q", "lost")
	await(1)
	require.ElementsMatch(t, []string{"good", "bad", "a1", "returned2", "b1", "lost2"}, got)
	require.NoError(t, a.Stop(bubble.Minute(t)))
	require.Zero(t, length(t, q))
	require.Equal(t, map[string]int{"failed": 1, "returned": 1}, outcomes(log))
	require.Contains(t, log.String(), "an item was lost before it was settled")
}

// Consume works on n items at once, however many these are, and claims no more than it works on.
func TestConsumeWorksOnNAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const n = 40
		var s *session.Session
		var now atomic.Int32
		logs, log := logged()
		a := app(t, fx.Supply(fxmodule.Config{Embedded: true}), logs, fx.Populate(&s), fxmodule.Queue("jobs", "/q"),
			fxmodule.Consume("jobs", n, func(context.Context, *queue.Item) error {
				if now.Add(1) > n {
					t.Error("more than n at once")
				}
				time.Sleep(11 * time.Second)
				now.Add(-1)
				return nil
			}))
		q := put(t, s, "/q", make([]string, 2*n)...)
		time.Sleep(500 * time.Millisecond)
		require.EqualValues(t, n, now.Load())
		i, err := must(queue.New(s, "/q")).Take(bubble.Minute(t))
		require.NoError(t, err, "what is not worked on is there for others")
		require.NoError(t, i.Ack(bubble.Minute(t)))
		time.Sleep(time.Minute)
		require.Zero(t, length(t, q))
		require.NotContains(t, log.String(), "not settled", "functions have them")
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
		logs, log := logged()
		var s *session.Session
		at := make(chan time.Duration, 10)
		begun := time.Now()
		done := make(chan string, 10)
		a := app(t, fx.Supply(fxmodule.Config{Embedded: true}), logs, fx.Populate(&s),
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
		letters := must(put(t, s, "/dead").Take(bubble.Minute(t)))
		require.Equal(t, "bad", string(letters.Data()))
		e := must(put(t, s, "/dead").Find(bubble.Minute(t), letters.ID()))
		require.Equal(t, "panic: out of paper", e.LastError.Error)
		require.NoError(t, letters.Ack(bubble.Minute(t)))
		require.Equal(t, map[string]int{"panicked": 3}, outcomes(log))
		require.Contains(t, log.String(), "out of paper")
		require.Contains(t, log.String(), "consume_test.go", "its stack")
		require.NoError(t, a.Stop(bubble.Minute(t)))
	})
}

// A stop does not wait for the pause of an item. Under queue.WithAutoAck nothing goes back.
func TestAStopEndsThePause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s *session.Session
		var q *queue.Queue
		logs, log := logged()
		a := app(t, fx.Supply(fxmodule.Config{Embedded: true}), fx.Populate(&s),
			logs,
			fxmodule.Queue("jobs", "/q", doubled()), fxmodule.Queue("odd", "/odd"),
			fx.Invoke(func(lc fx.Lifecycle) {
				lc.Append(fx.Hook{OnStop: func(ctx context.Context) error {
					all, err := q.Stats(ctx)
					require.Equal(t, 1, all.Items)
					return err
				}})
			}),
			fxmodule.Consume("jobs", 1, func(context.Context, *queue.Item) error { panic("out of paper") }),
			fxmodule.Consume("odd", 1, func(context.Context, *queue.Item) error { panic("out of ink") }, queue.WithAutoAck()))
		q = put(t, s, "/q", "bad")
		odd := put(t, s, "/odd", "bad")
		time.Sleep(16 * time.Second)
		require.Zero(t, length(t, odd))
		begun := time.Now()
		require.NoError(t, a.Stop(bubble.Minute(t)))
		require.Less(t, time.Since(begun), time.Second)
		require.Equal(t, map[string]int{"panicked": 6}, outcomes(log))
	})
}

// TestAStopFinishesTheWorkInHand: what a worker has is finished and acknowledged, and what none has
// goes back.
func TestAStopFinishesTheWorkInHand(t *testing.T) {
	t.Parallel()
	srv, cfg := servers(t)
	q := put(t, bubble.Open(t, srv.Servers()), "/q", "a", "b", "c")
	begun, finish := make(chan struct{}, 3), make(chan struct{})
	var finished atomic.Int32
	a := app(t, cfg, fxmodule.Queue("jobs", "/q"), fxmodule.Consume("jobs", 1, func(context.Context, *queue.Item) error {
		begun <- struct{}{}
		<-finish
		finished.Add(1)
		return nil
	}))
	bubble.Within(t, time.Minute, begun)
	stopped := bubble.Begin(func() error { return a.Stop(bubble.Minute(t)) })
	select {
	case <-stopped:
		require.Fail(t, "it did not wait")
	case <-time.After(100 * time.Millisecond):
	}
	close(finish)
	require.NoError(t, bubble.Within(t, time.Minute, stopped))
	require.EqualValues(t, 1, finished.Load())
	require.Equal(t, 2, length(t, q))
	next, err := q.Take(bubble.Minute(t))
	require.NoError(t, err, "at once: nothing waits for a session to expire")
	require.Equal(t, "b", string(next.Data()))
	require.NoError(t, next.Ack(bubble.Minute(t)))
}

// TestAStopCostsAJobNoAttempt: a job that ends because the application stops has not failed. Its
// item is there for others at once, as if nobody had had it. A job that fails then has failed.
func TestAStopCostsAJobNoAttempt(t *testing.T) {
	t.Parallel()
	for name, job := range map[string]func(ctx context.Context, stopping <-chan struct{}) error{
		"its context ends": func(ctx context.Context, _ <-chan struct{}) error {
			<-ctx.Done()
			return errors.New("it does not say why")
		},
		"it ends with another context": func(_ context.Context, stopping <-chan struct{}) error {
			<-stopping
			return fmt.Errorf("to print: %w", context.Canceled)
		},
		"it fails": func(_ context.Context, stopping <-chan struct{}) error {
			<-stopping
			return errors.New("no paper")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				srv, begun, stopping := zktest.Start(t), make(chan struct{}), make(chan struct{})
				q := put(t, bubble.Open(t, srv.Hosts(), session.WithDialer(srv.Dialer())), "/q", "a")
				logs, log := logged()
				a := app(t, fx.Supply(fxmodule.Default(srv.Hosts()...)), fxtest.Server(srv), logs,
					fxmodule.Queue("jobs", "/q", doubled()), fxmodule.Consume("jobs", 1, func(ctx context.Context, _ *queue.Item) error {
						close(begun)
						return job(ctx, stopping)
					}))
				bubble.Within(t, time.Minute, begun)
				stopped := bubble.Begin(func() error { return a.Stop(bubble.Minute(t)) })
				time.Sleep(time.Second)
				close(stopping)
				require.NoError(t, bubble.Within(t, time.Minute, stopped))
				e := must(q.List(bubble.Minute(t), 1))[0]
				if name == "it fails" {
					require.Equal(t, []any{1, "no paper"}, []any{e.Attempts, e.LastError.Error})
					return
				}
				require.Equal(t, []any{0, true, "", false}, []any{e.Attempts, e.Due.IsZero(), e.LastError.Error, e.Claimed})
				require.Equal(t, map[string]int{"returned": 1}, outcomes(log))
			})
		})
	}
}

// What goes back at a stop is there for others at once, and so is what waits, though another job
// takes its time.
func TestAStopLeavesItemsToOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv, begun, stopping := zktest.Start(t), make(chan struct{}, 2), make(chan struct{})
		q := put(t, bubble.Open(t, srv.Hosts(), session.WithDialer(srv.Dialer())), "/q", "quick", "slow", "next")
		a := app(t, fx.Supply(fxmodule.Default(srv.Hosts()...)), fxtest.Server(srv),
			fxmodule.Queue("jobs", "/q"), fxmodule.Consume("jobs", 2, func(_ context.Context, i *queue.Item) error {
				begun <- struct{}{}
				<-stopping
				if string(i.Data()) == "slow" {
					time.Sleep(20 * time.Second)
					return nil
				}
				return context.Canceled
			}, queue.WithPrefetch(3)))
		breakOff := sync.OnceFunc(func() { close(stopping) })
		defer breakOff()
		bubble.Within(t, time.Minute, begun)
		bubble.Within(t, time.Minute, begun)
		time.Sleep(time.Second)
		stopped := bubble.Begin(func() error { return a.Stop(bubble.Minute(t)) })
		for _, want := range []string{"next", "quick"} {
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			i, err := q.Take(ctx)
			cancel()
			require.NoError(t, err)
			require.Equal(t, want, string(i.Data()))
			require.NoError(t, i.Ack(bubble.Minute(t)))
			if want == "next" {
				breakOff()
			}
		}
		require.NoError(t, bubble.Within(t, time.Minute, stopped))
	})
}

// TestAStopDoesNotWaitForEver: work that does not end is cut off with the stop, and its item goes
// to others.
func TestAStopDoesNotWaitForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s *session.Session
		srv, begun, ended := zktest.Start(t), make(chan struct{}), make(chan error, 1)
		a := app(t, fx.Supply(fxmodule.Default(srv.Hosts()...)), fxtest.Server(srv), fx.Populate(&s),
			fxmodule.Queue("jobs", "/q"), fxmodule.Consume("jobs", 1, func(ctx context.Context, _ *queue.Item) error {
				close(begun)
				<-ctx.Done()
				ended <- context.Cause(ctx)
				return ctx.Err()
			}))
		put(t, s, "/q", "a")
		bubble.Within(t, time.Minute, begun)
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		require.NoError(t, a.Stop(ctx))
		require.ErrorIs(t, bubble.Within(t, time.Minute, ended), session.ErrClosed)
		require.Empty(t, srv.Sessions(), "its session is closed all the same")
	})
}
