package fxmodule_test

// A stop whose functions do not return: who is named, and what is released.
// Helpers: app_test.go.

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/troupe-go/troupe/fxmodule"
	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
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
				function := func(name string) func(ctx context.Context) error {
					return func(ctx context.Context) error {
						began <- struct{}{}
						if name == "late" || name == "slow" { // it takes a while, and heeds its context
							<-ctx.Done()
							time.Sleep(c.budget / 20)
							return nil
						}
						<-never
						return nil
					}
				}
				opts := []fx.Option{fx.Supply(fxmodule.Config{Embedded: true}), fx.Populate(&s)}
				for _, name := range append(c.leaders, "late") {
					f := function(name)
					opts = append(opts, fxmodule.Election(name, "/e-"+name), fxmodule.RunLeader(name, func(ctx context.Context, _ *election.Term) error { return f(ctx) }))
				}
				for _, name := range append(c.queues, "slow") {
					f := function(name)
					opts = append(opts, fxmodule.Queue(name, "/q-"+name), fxmodule.Consume(name, 1, func(ctx context.Context, _ *queue.Item) error { return f(ctx) }))
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
					require.ErrorContains(t, err, fmt.Sprintf("fxmodule.RunLeader(%q): the function did not return in time", name))
				}
				for _, name := range c.queues {
					require.ErrorContains(t, err, fmt.Sprintf("fxmodule.Consume(%q): ", name))
				}
				require.NotContains(t, err.Error(), "close: ", "the session is closed, not left to expire")
				require.Equal(t, len(c.leaders)+len(c.queues), strings.Count(err.Error(), "fxmodule."), "one error a cause: %v", err)
				require.NotContains(t, err.Error(), "late")
				require.NotContains(t, err.Error(), "slow")
				require.ErrorIs(t, s.Err(), session.ErrClosed)
				require.NoError(t, s.Close(ctx), "the server has confirmed it")
			})
		})
	}
}
