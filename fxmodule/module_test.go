package fxmodule_test

// The module: its graph, how an application starts and ends with it, and the instances that it has.
// Helpers: app_test.go.

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/goleak"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/fxmodule"
	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/barrier"
	"github.com/troupe-go/troupe/recipes/config"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/group"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/recipes/naming"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/recipes/twopc"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

func TestTheGraphIsComplete(t *testing.T) {
	t.Parallel()
	require.NoError(t, fx.ValidateApp(
		quiet, fxmodule.Module, fx.Supply(fxmodule.Default("localhost:2181")),
		fxmodule.Lock("l", "/l"), fxmodule.ReadLock("r", "/s"), fxmodule.WriteLock("w", "/s"), fxmodule.Semaphore("p", "/p", 3), fxmodule.Election("e", "/e"),
		fxmodule.Queue("q", "/q"), fxmodule.Barrier("b", "/b"), fxmodule.DoubleBarrier("d", "/d", 3),
		fxmodule.Coordinator("c", "/tx"), fxmodule.Site("s", "/tx"),
		fxmodule.RunLeader("e", func(context.Context, *election.Term) error { return nil }),
		fxmodule.Consume("q", 2, func(context.Context, *queue.Item) error { return nil }),
		fx.Invoke(func(*session.Session, *actors.System) {}),
	))
	require.Error(t, fx.ValidateApp(quiet, fxmodule.Module), "there is no Config")
	type logger struct {
		fx.In
		Log *slog.Logger
	}
	require.Error(t, fx.ValidateApp(quiet, fxmodule.Module, fx.Supply(fxmodule.Default("localhost:2181")), fx.Invoke(func(logger) {})),
		"what the module does not own it does not provide")
}

func TestNamedInstancesAreClosedWithTheApplication(t *testing.T) {
	t.Parallel()
	srv, cfg := servers(t)
	var orders *lock.Lock
	var s *session.Session
	a := app(t, cfg, fxmodule.Lock("orders", "/locks/orders"), fxmodule.Lock("bills", "/locks/bills"), fx.Populate(&s),
		fx.Invoke(fx.Annotate(func(l *lock.Lock) { orders = l }, fx.ParamTags(`name:"orders"`))))
	grant := must(orders.Lock(bubble.Minute(t)))

	next := must(lock.New(bubble.Open(t, srv.Servers()), "/locks/orders"))
	next.Acquire()

	begun := time.Now()
	require.NoError(t, a.Stop(bubble.Minute(t)))
	<-grant.Done()
	bubble.Within(t, time.Minute, next.Acquired())
	require.Less(t, time.Since(begun), s.Status().Timeout/2, "not for want of a session that expired")
	require.Len(t, srv.Sessions(), 1, "the session is closed, not left to expire")
	require.ErrorIs(t, orders.Err(), session.ErrClosed)
	require.ErrorIs(t, s.Err(), session.ErrClosed)
}

// TestStartNeedsZooKeeper: without it the start fails in time, with the servers and the cause. A
// lazy start does not need it.
func TestStartNeedsZooKeeper(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg := fxmodule.Default("zk.example:2181")
		a := fx.New(quiet, fxmodule.Module, fx.Supply(cfg), fxmodule.Options(refusing), fxmodule.Lock("l", "/l"))
		ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
		defer cancel()
		err := a.Start(ctx)
		require.ErrorContains(t, err, "zk.example:2181")
		require.ErrorContains(t, err, "connection refused")
		require.NoError(t, ctx.Err())

		cfg.Startup = fxmodule.StartupLazy
		var s *session.Session
		app(t, fx.Supply(cfg), fxmodule.Options(refusing), fx.Populate(&s))
		require.Equal(t, session.Connecting, s.Status().State)
	})
}

// refusing has a session find no server.
var refusing = session.WithDialer(func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("connection refused") })

// TestASessionThatEndsForGood shuts the application down.
func TestASessionThatEndsForGood(t *testing.T) {
	t.Parallel()
	srv := zktest.Start(t)
	cfg := fxmodule.Default(srv.Servers()...)
	cfg.Startup, cfg.AuthScheme, cfg.AuthSecret = fxmodule.StartupLazy, "nonsense", "bob:hunter2"
	logs, log := logged()
	a := app(t, fx.Supply(cfg), logs, fxmodule.Election("e", "/e"),
		fxmodule.RunLeader("e", func(context.Context, *election.Term) error { return nil }))
	require.Equal(t, 1, bubble.Within(t, time.Minute, a.Wait()).ExitCode)
	require.NoError(t, a.Stop(bubble.Minute(t)))
	require.NotContains(t, log.String(), "hunter2")
}

// Options count where the Config sets the same.
func TestOptions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := zktest.Start(t)
		cfg := fxmodule.Default(server.Hosts()...)
		var s *session.Session
		a := app(t, fx.Supply(cfg), fx.Populate(&s), fxmodule.Options(session.WithDialer(server.Dialer()), session.WithTimeout(7*time.Second)))
		require.Equal(t, 7*time.Second, s.Status().Timeout)
		require.NoError(t, a.Stop(bubble.Minute(t)))
		require.Empty(t, server.Sessions())
	})
}

func TestTheEmbeddedServer(t *testing.T) {
	t.Parallel()
	logs, log := logged()
	var s *session.Session
	addr := unused(t)
	a := app(t, fx.Supply(fxmodule.Config{Embedded: true, EmbeddedListen: addr}), logs, fx.Populate(&s))
	require.Contains(t, log.String(), "level=WARN")
	require.Contains(t, log.String(), "development")
	must(s.Create(bubble.Minute(t), "/here", nil))
	other := bubble.Open(t, []string{addr})
	_, exists, err := other.Exists(bubble.Minute(t), "/here")
	require.NoError(t, err)
	require.True(t, exists)
	require.NoError(t, other.Close(bubble.Minute(t)))
	require.NoError(t, a.Stop(bubble.Minute(t)))
	_, err = net.Dial("tcp", addr)
	require.Error(t, err)
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
	tx := must(all.Coordinator.Begin(bubble.Minute(t), "one", []byte("x"), "books"))
	p := bubble.Within(t, time.Minute, all.Site.Proposals())
	require.Equal(t, tx.ID(), p.ID())
	require.NoError(t, p.VoteCommit(bubble.Minute(t)))
	bubble.Within(t, time.Minute, tx.Decided())
	require.Equal(t, twopc.Committed, tx.Outcome())
	require.Equal(t, 7, must(all.Rate.Update(bubble.Minute(t), func(n int) (int, error) { return n + 7, nil })).Value)
	require.NoError(t, all.Names.Bind(bubble.Minute(t), "billing", []byte("10.0.0.7")))
	me := must(all.Workers.Join(group.Member{Name: "me"}))
	bubble.Within(t, time.Minute, me.Joined())
	require.NoError(t, a.Stop(bubble.Minute(t)))
	require.ErrorIs(t, me.Err(), session.ErrClosed)
	for _, err := range []error{all.Rounds.Err(), all.Coordinator.Err(), all.Site.Err(), all.Rate.Err()} {
		require.ErrorIs(t, err, session.ErrClosed)
	}
}

// Every option that provides an instance takes the options of the instance's own package: an ACL
// given there is that of the znode.
func TestGroupCellAndNamesTakeOptions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := zktest.Start(t)
		acl := session.AnyoneACL(session.PermAll &^ session.PermAdmin)
		var all struct {
			fx.In
			Session *session.Session
			Rate    *config.Cell[int] `name:"rate"`
			Names   *naming.Names     `name:"services"`
			Workers *group.Group      `name:"workers"`
		}
		app(t, fx.Supply(fxmodule.Default(server.Hosts()...)), fxmodule.Options(session.WithDialer(server.Dialer())), fx.Populate(&all),
			fxmodule.Cell("rate", "/rate", config.JSON[int](), config.WithACL(acl...)),
			fxmodule.Names("services", "/names", naming.WithACL(acl...)),
			fxmodule.Group("workers", "/workers", group.WithACL(acl...)))
		ctx := bubble.Minute(t)
		must(all.Rate.Update(ctx, func(n int) (int, error) { return n + 7, nil }))
		require.NoError(t, all.Names.Bind(ctx, "billing", []byte("10.0.0.7")))
		bubble.Within(t, time.Minute, must(all.Workers.Join(group.Member{Name: "me"})).Joined())
		for _, path := range []string{"/rate", "/names/billing", "/workers"} {
			have, _, err := all.Session.ACL(ctx, path)
			require.NoError(t, err)
			require.Equal(t, acl, have, path)
		}
	})
}

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
	for i := range 20 {
		cfg := []fxmodule.Config{fxmodule.Default(nobody), {Embedded: true}}[i%2]
		a := fx.New(following(fx.Supply(cfg), fx.Invoke(func(followers) error { return errors.New("out of paper") })))
		require.ErrorContains(t, a.Err(), "out of paper")
	}
	require.NoError(t, goleak.Find(before))
}

// Nothing connects before OnStart, and then all that follows does.
func TestNothingStartsBeforeTheApplicationDoes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var all followers
		a := fx.New(following(fx.Supply(fxmodule.Config{Embedded: true}), fx.Invoke(func(f followers) { all = f })))
		require.NoError(t, a.Err())
		time.Sleep(time.Hour)
		require.Equal(t, session.Connecting, all.Session.Status().State)
		require.True(t, all.Rate.Load().Stale)
		require.NoError(t, a.Start(bubble.Minute(t)))
		must(all.Rate.Update(bubble.Minute(t), func(n int) (int, error) { return n + 7, nil }))
		require.Equal(t, 7, must(all.Rate.Await(bubble.Minute(t))).Value)
		synctest.Wait()
		names, _, err := all.Session.Children(bubble.Minute(t), "/tx/alive")
		require.NoError(t, err)
		require.Equal(t, []string{"books"}, names)
		require.NoError(t, a.Stop(bubble.Minute(t)))
		require.ErrorIs(t, all.Rate.Err(), session.ErrClosed)
		require.ErrorIs(t, all.Site.Err(), session.ErrClosed)
	})
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
