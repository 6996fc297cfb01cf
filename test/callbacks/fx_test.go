package callbacks_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/troupe-go/troupe/fxmodule"
	"github.com/troupe-go/troupe/fxmodule/fxtest"
	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/config"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/recipes/twopc"
	"github.com/troupe-go/troupe/session"
)

// application runs a function of this title while begin makes work for it, again and again: after a
// way to fail it goes on, unless that ends the application.
func application(w *world, title string, begin func(s *session.Session, n int), ends bool, opts ...fx.Option) {
	var s *session.Session
	a := fx.New(append(opts, fx.NopLogger, fxmodule.Module, fx.Supply(fxmodule.Default("zk:1"), slog.New(slog.NewTextHandler(&w.log, nil))),
		fxtest.Server(w.Server), fx.Populate(&s))...)
	require.NoError(w, a.Err())
	w.armed.Store(true)
	require.NoError(w, a.Start(bubble.Minute(w)))
	begin(s, 1)
	time.Sleep(2 * time.Minute)
	if w.way != never {
		begin(s, 2)
		time.Sleep(2 * time.Minute)
	}
	require.Equal(w, ends && (w.way == panics || w.way == exits), w.log.Count("the application is shut down") > 0)
	require.EqualValues(w, 1, s.Status().Epoch)
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	err := a.Stop(ctx)
	require.NoError(w, ctx.Err())
	require.Empty(w, w.Server.Sessions())
	if w.way == never {
		require.ErrorContains(w, err, fmt.Sprintf("fxmodule.%s(%q): ", title, "x"))
		return
	}
	require.NoError(w, err)
	w.named()
}

func runLeader(w *world) {
	application(w, "RunLeader", func(*session.Session, int) {}, true, fxmodule.Election("x", "/x"),
		fxmodule.RunLeader("x", func(ctx context.Context, _ *election.Term) error { w.act(); <-ctx.Done(); return nil }))
}

func consume(w *world) {
	consumed(w, func(*queue.Item) error { w.act(); return nil })
}

func consumeWithBackoff(w *world) {
	consumed(w, func(i *queue.Item) error {
		if i.Attempt() == 1 {
			return errors.New("not yet")
		}
		return nil
	}, queue.WithBackoff(func(int) time.Duration { w.act(); return 0 }))
}

// consumed has each of two items processed, unless the function never returns.
func consumed(w *world, process func(i *queue.Item) error, opts ...queue.Option) {
	done := map[string]bool{}
	application(w, "Consume", func(s *session.Session, n int) {
		q, err := queue.New(s, "/x")
		require.NoError(w, err)
		_, err = q.Put(bubble.Minute(w), fmt.Append(nil, n))
		require.NoError(w, err)
	}, false, fxmodule.Queue("x", "/x", opts...), fxmodule.Consume("x", 1, func(_ context.Context, i *queue.Item) error {
		err := process(i)
		done[string(i.Data())] = err == nil
		return err
	}))
	if w.way != never {
		require.Equal(w, map[string]bool{"1": true, "2": true}, done)
	}
}

func follow(w *world) {
	last := ""
	application(w, "Follow", func(s *session.Session, n int) {
		c, err := config.Open(bubble.Minute(w), s, "/x", config.Text())
		require.NoError(w, err)
		_, err = c.Update(bubble.Minute(w), func(string) (string, error) { return fmt.Sprint(n), nil })
		require.NoError(w, err)
	}, false, fxmodule.Cell("x", "/x", config.Text()), fxmodule.Follow[string]("x", func(_ context.Context, s config.Snapshot[string]) error {
		w.act()
		last = s.Value
		return nil
	}))
	require.Equal(w, map[bool]string{false: "2"}[w.way == never], last)
}

func runSite(w *world) {
	var outcomes []twopc.Outcome
	application(w, "RunSite", func(s *session.Session, n int) {
		c, err := twopc.NewCoordinator(s, "/x")
		require.NoError(w, err)
		tx, err := c.Begin(bubble.Minute(w), fmt.Sprint(n), nil, "x")
		require.NoError(w, err)
		select {
		case <-tx.Decided():
		case <-time.After(2 * time.Minute):
		}
		outcomes = append(outcomes, tx.Outcome())
	}, false, fxmodule.Site("x", "/x"), fxmodule.RunSite("x", func(ctx context.Context, p *twopc.Proposal) error {
		w.act()
		return p.Commit(ctx)
	}))
	if w.way == never {
		return
	}
	if w.way != slow {
		require.Equal(w, twopc.Aborted, outcomes[0])
	}
	require.Equal(w, twopc.Committed, outcomes[1])
}
