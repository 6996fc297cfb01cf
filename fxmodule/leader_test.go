package fxmodule_test

// RunLeader: when its function runs, what its ends lead to, and what is reported.
// Helpers: app_test.go.

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/troupe-go/troupe/fxmodule"
	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/session"
)

// TestRunLeader: fn runs while its process leads; a stop ends its context, waits for it, and lets
// the successor take over at once.
func TestRunLeader(t *testing.T) {
	t.Parallel()
	srv, cfg := servers(t)
	leads, ended := make(chan *election.Term, 1), make(chan error, 1)
	a := app(t, cfg, fxmodule.Election("reports", "/e", election.WithName("a")),
		fxmodule.RunLeader("reports", func(ctx context.Context, term *election.Term) error {
			leads <- term
			<-ctx.Done()
			ended <- context.Cause(ctx)
			return nil
		}))
	first := bubble.Within(t, time.Minute, leads)
	require.True(t, first.Valid())

	rival := must(election.New(bubble.Open(t, srv.Servers()), "/e", election.WithName("b")))
	rival.Campaign()
	require.NoError(t, a.Stop(bubble.Minute(t)))
	bubble.Within(t, time.Minute, ended)
	term := bubble.Within(t, time.Minute, rival.Leader())
	require.Greater(t, term.Token(), first.Token())
}

// A leader that fails during its term, that panics at any time, or whose election is closed, shuts
// the application down. Its term is resigned: others lead at once.
func TestALeaderThatFailsShutsTheApplicationDown(t *testing.T) {
	t.Parallel()
	type leading struct {
		fx.In
		Session  *session.Session
		Election *election.Election `name:"reports"`
	}
	for name, c := range map[string]struct {
		fn   func(ctx context.Context, l leading, term *election.Term) error
		says string
	}{
		"it fails":  {func(context.Context, leading, *election.Term) error { return errors.New("out of paper") }, "out of paper"},
		"it panics": {func(context.Context, leading, *election.Term) error { panic("out of paper") }, "leader_test.go"}, // its stack
		"it panics after its term has ended": {func(ctx context.Context, l leading, term *election.Term) error {
			if err := l.Session.Delete(context.Background(), term.Path(), -1); err != nil {
				return err
			}
			<-ctx.Done()
			panic("out of paper")
		}, "out of paper"},
		"it fails with ErrClosed of another session": {func(context.Context, leading, *election.Term) error {
			return fmt.Errorf("the archive: %w", session.ErrClosed)
		}, "archive"},
		"the election is closed": {func(ctx context.Context, l leading, _ *election.Term) error {
			go l.Election.Close(context.Background()) // Close waits for this function, which therefore does not wait for Close
			<-ctx.Done()
			return nil
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv, cfg := servers(t)
			logs, log := logged()
			var l leading
			a := app(t, cfg, logs, fx.Populate(&l), fxmodule.Election("reports", "/e"),
				fxmodule.RunLeader("reports", func(ctx context.Context, term *election.Term) error { return c.fn(ctx, l, term) }))
			require.Equal(t, 1, bubble.Within(t, time.Minute, a.Wait()).ExitCode)
			names, _, err := bubble.Open(t, srv.Servers()).Children(bubble.Minute(t), "/e")
			if !errors.Is(err, session.ErrNoNode) { // it was a container, which goes when it is empty
				require.NoError(t, err)
				require.Empty(t, names, "the term is resigned")
			}
			require.NoError(t, a.Stop(bubble.Minute(t)))
			require.Contains(t, log.String(), c.says)
			require.Contains(t, log.String(), "reports")
		})
	}
}

// TestALeaderThatFailsWithItsTerm leads again: its error is in the log.
func TestALeaderThatFailsWithItsTerm(t *testing.T) {
	t.Parallel()
	_, cfg := servers(t)
	logs, log := logged()
	var s *session.Session
	terms := make(chan *election.Term, 2)
	a := app(t, cfg, logs, fx.Populate(&s), fxmodule.Election("reports", "/e"),
		fxmodule.RunLeader("reports", func(ctx context.Context, term *election.Term) error {
			terms <- term
			<-ctx.Done()
			return errors.New("the printer is on fire")
		}))
	first := bubble.Within(t, time.Minute, terms)
	require.NoError(t, s.Delete(bubble.Minute(t), first.Path(), -1))
	require.Greater(t, bubble.Within(t, time.Minute, terms).Token(), first.Token())
	require.Contains(t, log.String(), "on fire")
	require.NoError(t, a.Stop(bubble.Minute(t)))
}

// TestALeaderIsNamedByItsOption: a log entry about RunLeader's election names the line of the
// option; one about an election that the function runs itself names the line of its Run.
func TestALeaderIsNamedByItsOption(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		logs, log := logged()
		type other struct {
			fx.In
			Election *election.Election `name:"other"`
		}
		option, inner := bubble.After(2), bubble.After(5) // the lines of RunLeader and of Election.Run below
		a := app(t, fx.Supply(fxmodule.Config{Embedded: true}), logs, fxmodule.Election("reports", "/e"), fxmodule.Election("other", "/other"),
			fxmodule.RunLeader("reports", func(ctx context.Context, _ *election.Term, o other) error {
				ctx, cancel := context.WithTimeout(ctx, time.Second/2)
				defer cancel()
				_ = o.Election.Run(ctx, func(context.Context, *election.Term) error { return nil })
				return nil
			}))
		time.Sleep(time.Second)
		require.Regexp(t, `returns at once.*path=/e asked=\S*/`+option, log.String())
		require.Regexp(t, `returns at once.*path=/other asked=\S*/`+inner, log.String())
		require.NoError(t, a.Stop(bubble.Minute(t)))
	})
}
