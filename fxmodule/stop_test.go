package fxmodule_test

// A stop whose functions do not return: who is named, and what is released.

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/troupe-go/troupe/fxmodule"
	"github.com/troupe-go/troupe/fxmodule/fxtest"
	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// However many functions are stuck, each is named, none takes the time of another or of the
// session's close, and what returns in time is not named.
func TestAStopWithStuckFunctions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		leaders, queues []string
		budget          time.Duration
	}{
		{[]string{"a", "b", "c", "d", "e"}, nil, time.Second},
		{[]string{"a"}, []string{"p", "q", "r"}, 15 * time.Second},
		{[]string{"a"}, []string{"p"}, 15 * time.Second},
	} {
		t.Run(fmt.Sprintf("%d leaders, %d queues", len(c.leaders), len(c.queues)), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var s *session.Session
				never, began := make(chan struct{}), make(chan struct{}, 20)
				stuck := func() error { began <- struct{}{}; <-never; return nil }
				opts := []fx.Option{fx.Supply(fxmodule.Config{Embedded: true}), fx.Populate(&s)}
				late := func(ctx context.Context) error { // it takes a while, and heeds its context
					began <- struct{}{}
					<-ctx.Done()
					time.Sleep(c.budget / 20)
					return nil
				}
				for _, name := range append(c.leaders, "late") {
					opts = append(opts, fxmodule.Election(name, "/e-"+name), fxmodule.RunLeader(name, func(ctx context.Context, _ *election.Term) error {
						if name == "late" {
							return late(ctx)
						}
						return stuck()
					}))
				}
				for _, name := range append(c.queues, "slow") {
					opts = append(opts, fxmodule.Queue(name, "/q-"+name), fxmodule.Consume(name, 1, func(ctx context.Context, _ *queue.Item) error {
						if name == "slow" {
							return late(ctx)
						}
						return stuck()
					}))
				}
				a := app(t, opts...)
				defer close(never)
				for _, name := range append(c.queues, "slow") {
					put(t, s, "/q-"+name, "x")
				}
				for range len(c.leaders) + len(c.queues) + 2 {
					bubble.Within(t, time.Minute, began)
				}
				ctx, cancel := context.WithTimeout(context.Background(), c.budget)
				defer cancel()
				err := a.Stop(ctx)
				require.NoError(t, ctx.Err())
				for _, name := range c.leaders {
					require.ErrorContains(t, err, fmt.Sprintf("fxmodule.RunLeader(%q): ", name))
				}
				for _, name := range c.queues {
					require.ErrorContains(t, err, fmt.Sprintf("fxmodule.Consume(%q): ", name))
				}
				require.Equal(t, len(c.leaders)+len(c.queues), strings.Count(err.Error(), "fxmodule."), "one error a cause: %v", err)
				require.NotContains(t, err.Error(), "late")
				require.NotContains(t, err.Error(), "slow")
				require.ErrorIs(t, s.Err(), session.ErrClosed)
				require.NoError(t, s.Close(ctx), "the server has confirmed it")
			})
		})
	}
}

// A stop while ZooKeeper is down ends within its budget too, and says what it waits for, at once,
// and at its end. Instances are not waited for: the session's end does it for them.
func TestAStopWhileZooKeeperIsDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := zktest.Start(t)
		began := make(chan struct{})
		var log bubble.Log
		a := app(t, fx.Supply(fxmodule.Default(srv.Hosts()...)), fx.Supply(slog.New(slog.NewTextHandler(&log, nil))), fxtest.Server(srv), fxmodule.Election("e", "/e"), fxmodule.Queue("q", "/q"),
			fxmodule.RunLeader("e", func(ctx context.Context, _ *election.Term) error { close(began); <-ctx.Done(); return nil }),
			fxmodule.Consume("q", 1, func(context.Context, *queue.Item) error { return nil }))
		bubble.Within(t, time.Minute, began)
		srv.Kill(0)
		time.Sleep(time.Second)
		ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
		defer cancel()
		stopped := bubble.Begin(func() error { return a.Stop(ctx) })
		synctest.Wait()
		require.Equal(t, 1, log.Count(`level=WARN msg="the application stops, and waits for a connection to ZooKeeper" up_to=14.4s cause="no connection to ZooKeeper for 1s: `))
		err := <-stopped
		require.NoError(t, ctx.Err())
		for _, part := range []string{
			`fxmodule.Consume("q"): close /q: no connection to ZooKeeper for `, "close: no connection to ZooKeeper for ",
		} {
			require.ErrorContains(t, err, part)
		}
		require.NotContains(t, err.Error(), "fxmodule.Election", "the session's end is its end")
		require.NotContains(t, err.Error(), "did not return", "it was not the functions")
		time.Sleep(time.Minute) // the session is given up for good
	})
}
