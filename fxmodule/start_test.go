package fxmodule_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/goleak"

	"github.com/troupe-go/troupe/fxmodule"
	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/config"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/recipes/twopc"
	"github.com/troupe-go/troupe/session"
)

// followers are the instances that follow ZooKeeper by themselves.
type followers struct {
	fx.In
	Session *session.Session
	Site    *twopc.Site       `name:"books"`
	Rate    *config.Cell[int] `name:"rate"`
}

func following(more ...fx.Option) fx.Option {
	return fx.Options(append(more, quiet, fxmodule.Module,
		fxmodule.Site("books", "/tx"), fxmodule.Cell("rate", "/rate", config.JSON[int]()), fxmodule.Lock("l", "/l"), fxmodule.Election("e", "/e"),
		fxmodule.Queue("q", "/q"),
		fxmodule.RunLeader("e", func(ctx context.Context, _ *election.Term) error { <-ctx.Done(); return nil }),
		fxmodule.Consume("q", 2, func(context.Context, *queue.Item) error { return nil }))...)
}

// A graph that can't be constructed leaves nothing behind: no goroutine, no connection.
func TestAFailedConstructionLeavesNothing(t *testing.T) { //nolint:paralleltest // it counts goroutines
	nobody, before := unused(t), goleak.IgnoreCurrent()
	for range 10 {
		a := fx.New(following(fx.Supply(fxmodule.Default(nobody)), fx.Invoke(func(followers) error { return errors.New("out of paper") })))
		require.ErrorContains(t, a.Err(), "out of paper")
	}
	for range 10 {
		a := fx.New(following(fx.Supply(fxmodule.Config{Embedded: true}), fx.Invoke(func(followers) error { return errors.New("out of paper") })))
		require.ErrorContains(t, a.Err(), "out of paper")
	}
	require.NoError(t, goleak.Find(before))
}

// Nothing connects before OnStart, and then all that follows does.
func TestNothingStartsBeforeTheApplicationDoes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, nothingStartsBeforeTheApplication)
}

func nothingStartsBeforeTheApplication(t *testing.T) {
	var all followers
	a := fx.New(following(fx.Supply(fxmodule.Config{Embedded: true}), fx.Invoke(func(f followers) { all = f })))
	require.NoError(t, a.Err())
	time.Sleep(time.Hour)
	require.Equal(t, session.Connecting, all.Session.Status().State)
	require.True(t, all.Rate.Load().Stale)
	require.NoError(t, a.Start(bubble.Minute(t)))
	_, err := all.Rate.Update(bubble.Minute(t), func(n int) (int, error) { return n + 7, nil })
	require.NoError(t, err)
	now, err := all.Rate.Await(bubble.Minute(t))
	require.NoError(t, err)
	require.Equal(t, 7, now.Value)
	synctest.Wait()
	names, _, err := all.Session.Children(bubble.Minute(t), "/tx/alive")
	require.NoError(t, err)
	require.Equal(t, []string{"books"}, names)
	require.NoError(t, a.Stop(bubble.Minute(t)))
	require.ErrorIs(t, all.Rate.Err(), session.ErrClosed)
	require.ErrorIs(t, all.Site.Err(), session.ErrClosed)
}

// A graph that was constructed and never started is closed without having begun anything.
func TestWhatNeverStartedIsClosed(t *testing.T) {
	t.Parallel()
	srv, cfg := servers(t)
	var all followers
	a := fx.New(following(cfg, fx.Invoke(func(f followers) { all = f })))
	require.NoError(t, a.Err())
	require.NoError(t, all.Rate.Close(bubble.Minute(t)))
	require.ErrorIs(t, all.Rate.Err(), session.ErrClosed)
	require.NoError(t, all.Session.Close(bubble.Minute(t)))
	<-all.Site.Done()
	require.Empty(t, srv.Sessions())
}

// Two functions that lead the same election would take turns at it: the graph is refused, also by
// fx.ValidateApp.
func TestTwoLeadersOfOneElectionAreRefused(t *testing.T) {
	t.Parallel()
	fn := func(context.Context, *election.Term) error { return nil }
	opts := fx.Options(quiet, fxmodule.Module, fx.Supply(fxmodule.Default("localhost:2181")),
		fxmodule.Election("e", "/e"), fxmodule.Election("f", "/f"), fxmodule.RunLeader("e", fn), fxmodule.RunLeader("f", fn))
	require.NoError(t, fx.ValidateApp(opts))
	twice := fx.Options(opts, fx.Module("elsewhere", fxmodule.RunLeader("e", fn)))
	require.ErrorContains(t, fx.ValidateApp(twice), "RunLeader")
	require.ErrorContains(t, fx.ValidateApp(twice), `"e"`)
	require.ErrorContains(t, fx.New(twice).Err(), "RunLeader")
}
