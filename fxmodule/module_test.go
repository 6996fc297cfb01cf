package fxmodule_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/fx/fxevent"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/fxmodule"
	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// quiet keeps fx's own log out of the tests' output.
var quiet = fx.WithLogger(func() fxevent.Logger { return fxevent.NopLogger })

// app starts an application, and stops it at the end of the test if that has not happened.
func app(t *testing.T, opts ...fx.Option) *fx.App {
	t.Helper()
	a := fx.New(append(opts, quiet, fxmodule.Module)...)
	require.NoError(t, a.Err())
	require.NoError(t, a.Start(bubble.Minute(t)))
	var once sync.Once
	t.Cleanup(func() { once.Do(func() { _ = a.Stop(bubble.Minute(t)) }) })
	return a
}

func servers(t *testing.T) (*zktest.Server, fx.Option) {
	srv := zktest.Start(t)
	return srv, fx.Supply(fxmodule.Default(srv.Servers()...))
}

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
	grant, err := orders.Lock(bubble.Minute(t))
	require.NoError(t, err)

	other, err := session.Open(bubble.Minute(t), srv.Servers())
	require.NoError(t, err)
	defer other.Close(bubble.Minute(t))
	next, err := lock.New(other, "/locks/orders")
	require.NoError(t, err)
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

// TestRunLeader: fn runs while its process leads; a stop ends its context, waits for it, and lets
// the successor take over at once.
func TestRunLeader(t *testing.T) {
	t.Parallel()
	srv, cfg := servers(t)
	leads, ended := make(chan *election.Term, 1), make(chan error, 1)
	a := app(t, cfg, fxmodule.Election("reports", "/e", election.WithID("a")),
		fxmodule.RunLeader("reports", func(ctx context.Context, term *election.Term) error {
			leads <- term
			<-ctx.Done()
			ended <- context.Cause(ctx)
			return nil
		}))
	first := bubble.Within(t, time.Minute, leads)
	require.True(t, first.Valid())

	other, err := session.Open(bubble.Minute(t), srv.Servers())
	require.NoError(t, err)
	defer other.Close(bubble.Minute(t))
	rival, err := election.New(other, "/e", election.WithID("b"))
	require.NoError(t, err)
	rival.Campaign()
	require.NoError(t, a.Stop(bubble.Minute(t)))
	bubble.Within(t, time.Minute, ended)
	term := bubble.Within(t, time.Minute, rival.Leader())
	require.Greater(t, term.Token(), first.Token())
}

func TestALeaderThatFailsShutsTheApplicationDown(t *testing.T) {
	t.Parallel()
	_, cfg := servers(t)
	var log buffer
	a := app(t, cfg, fx.Supply(slog.New(slog.NewTextHandler(&log, nil))), fxmodule.Election("reports", "/e"),
		fxmodule.RunLeader("reports", func(context.Context, *election.Term) error { return errors.New("out of paper") }))
	require.Equal(t, 1, bubble.Within(t, time.Minute, a.Wait()).ExitCode)
	require.NoError(t, a.Stop(bubble.Minute(t)))
	require.Contains(t, log.String(), "out of paper")
	require.Contains(t, log.String(), "reports")
}

// TestALeaderThatFailsWithItsTerm leads again: its error is in the log.
func TestALeaderThatFailsWithItsTerm(t *testing.T) {
	t.Parallel()
	_, cfg := servers(t)
	var log buffer
	var s *session.Session
	terms := make(chan *election.Term, 2)
	a := app(t, cfg, fx.Supply(slog.New(slog.NewTextHandler(&log, nil))), fx.Populate(&s), fxmodule.Election("reports", "/e"),
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

// TestALeaderThatNoLongerTries shuts the application down too: here it is somebody else's session
// that is closed, and then the election itself.
func TestALeaderThatNoLongerTries(t *testing.T) {
	t.Parallel()
	_, cfg := servers(t)
	a := app(t, cfg, fxmodule.Election("reports", "/e"), fxmodule.RunLeader("reports", func(context.Context, *election.Term) error {
		return fmt.Errorf("the archive: %w", session.ErrClosed)
	}))
	require.Equal(t, 1, bubble.Within(t, time.Minute, a.Wait()).ExitCode)

	_, cfg = servers(t)
	var e *election.Election
	leads := make(chan struct{})
	a = app(t, cfg, fxmodule.Election("reports", "/e"), fx.Invoke(fx.Annotate(func(x *election.Election) { e = x }, fx.ParamTags(`name:"reports"`))),
		fxmodule.RunLeader("reports", func(ctx context.Context, _ *election.Term) error {
			close(leads)
			<-ctx.Done()
			return nil
		}))
	bubble.Within(t, time.Minute, leads)
	require.NoError(t, e.Close(bubble.Minute(t)))
	require.Equal(t, 1, bubble.Within(t, time.Minute, a.Wait()).ExitCode)
}

// TestALeaderThatDoesNotStop is named when the stop has no more time for it, and leaves enough of
// that for the session to be closed.
func TestALeaderThatDoesNotStop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s *session.Session
		leads, forget := make(chan struct{}), make(chan struct{})
		a := app(t, fx.Supply(fxmodule.Config{Embedded: true}), fx.Populate(&s), fxmodule.Election("reports", "/e"),
			fxmodule.RunLeader("reports", func(context.Context, *election.Term) error {
				close(leads)
				<-forget
				return nil
			}))
		defer close(forget)
		bubble.Within(t, time.Minute, leads)
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		begun := time.Now()
		err := a.Stop(ctx)
		require.ErrorContains(t, err, "RunLeader reports: the function did not return in time")
		require.Less(t, time.Since(begun), 10*time.Second)
		require.ErrorIs(t, s.Err(), session.ErrClosed)
		require.NotContains(t, err.Error(), "close: ", "the session is closed, not left to expire")
	})
}

// TestStartNeedsZooKeeper: without it the start fails in time, and says where it looked and what it
// found.
func TestStartNeedsZooKeeper(t *testing.T) {
	t.Parallel()
	nobody := unused(t)
	a := fx.New(quiet, fxmodule.Module, fx.Supply(fxmodule.Default(nobody)), fxmodule.Lock("l", "/l"))
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	begun := time.Now()
	err := a.Start(ctx)
	require.ErrorContains(t, err, nobody)
	require.ErrorContains(t, err, "connection refused")
	require.Less(t, time.Since(begun), time.Minute)
}

func TestALazyStartDoesNot(t *testing.T) {
	t.Parallel()
	addr := unused(t)
	cfg := fxmodule.Default(addr)
	cfg.Startup = fxmodule.StartupLazy
	var s *session.Session
	app(t, fx.Supply(cfg), fx.Populate(&s))
	require.Equal(t, session.Connecting, s.Status().State)
}

// TestASessionThatEndsForGood shuts the application down.
func TestASessionThatEndsForGood(t *testing.T) {
	t.Parallel()
	srv := zktest.Start(t)
	cfg := fxmodule.Default(srv.Servers()...)
	cfg.Startup, cfg.AuthScheme, cfg.AuthSecret = fxmodule.StartupLazy, "nonsense", "bob:hunter2"
	var log buffer
	a := app(t, fx.Supply(cfg), fx.Supply(slog.New(slog.NewTextHandler(&log, nil))), fxmodule.Election("e", "/e"),
		fxmodule.RunLeader("e", func(context.Context, *election.Term) error { return nil }))
	require.Equal(t, 1, bubble.Within(t, time.Minute, a.Wait()).ExitCode)
	require.NoError(t, a.Stop(bubble.Minute(t)))
	require.NotContains(t, log.String(), "hunter2")
}

func TestAnInvalidConfigDoesNotStart(t *testing.T) {
	t.Parallel()
	a := fx.New(quiet, fxmodule.Module, fx.Supply(fxmodule.Config{Timeout: -1}))
	require.ErrorContains(t, a.Err(), "Config.Servers:")
	require.ErrorContains(t, a.Err(), "Config.Timeout:")
}

func TestBadNames(t *testing.T) {
	t.Parallel()
	fn := func(context.Context, *election.Term) error { return nil }
	for kind, option := range map[string]fx.Option{
		"Lock": fxmodule.Lock("", "/l"), "Election": fxmodule.Election(`a"b`, "/e"), "RunLeader": fxmodule.RunLeader("", fn),
	} {
		require.ErrorContains(t, fx.New(quiet, option).Err(), "fxmodule."+kind+": name")
	}
	require.ErrorContains(t, fx.New(quiet, fxmodule.RunLeader("a", nil)).Err(), "fn is nil")
	_, cfg := servers(t)
	a := fx.New(quiet, fxmodule.Module, cfg, fxmodule.Lock("l", "relative"),
		fx.Invoke(fx.Annotate(func(*lock.Lock) {}, fx.ParamTags(`name:"l"`))))
	require.ErrorContains(t, a.Err(), `fxmodule.Lock("l")`)
}

func TestTheEmbeddedServer(t *testing.T) {
	t.Parallel()
	var log buffer
	var s *session.Session
	addr := unused(t)
	a := app(t, fx.Supply(fxmodule.Config{Embedded: true, EmbeddedListen: addr}), fx.Supply(slog.New(slog.NewTextHandler(&log, nil))), fx.Populate(&s))
	require.Contains(t, log.String(), "level=WARN")
	require.Contains(t, log.String(), "development")
	_, err := s.Create(bubble.Minute(t), "/here", nil)
	require.NoError(t, err)
	other, err := session.Open(bubble.Minute(t), []string{addr})
	require.NoError(t, err)
	_, exists, err := other.Exists(bubble.Minute(t), "/here")
	require.NoError(t, err)
	require.True(t, exists)
	require.NoError(t, other.Close(bubble.Minute(t)))
	require.NoError(t, a.Stop(bubble.Minute(t)))
	_, err = net.Dial("tcp", addr)
	require.Error(t, err)
}

// unused is an address at which nobody listens.
func unused(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

// buffer is a log that may be written to while it is read.
type buffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
