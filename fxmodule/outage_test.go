package fxmodule_test

// A stop while there is no connection: what waits for one, for how long, and what comes of it if it
// is found in time. Helpers: app_test.go.

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/troupe-go/troupe/fxmodule"
	"github.com/troupe-go/troupe/fxmodule/fxtest"
	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/group"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// busy is an application with a bit of everything in hand, which it finishes when it stops.
type busy struct {
	server *zktest.Server
	log    *buffer
	app    *fx.App
	alone  *session.Session // that has nothing in hand
	finish chan struct{}    // what is in hand
}

func newBusy(t *testing.T) *busy {
	t.Helper()
	logs, log := logged()
	b := &busy{server: zktest.Start(t), log: log, finish: make(chan struct{})}
	b.alone = bubble.Open(t, b.server.Hosts(), session.WithDialer(b.server.Dialer()))
	put(t, b.alone, "/q", "works", "fails", "works")
	put(t, b.alone, "/p", "works")
	var printer *lock.Lock
	b.app = app(t, fx.Supply(fxmodule.Default(b.server.Hosts()...)), logs, fxtest.Server(b.server),
		fxmodule.Lock("printer", "/printer"), fxmodule.Election("e", "/e"), fxmodule.Queue("q", "/q"), fxmodule.Queue("p", "/p"), fxmodule.Group("g", "/g"),
		fx.Invoke(fx.Annotate(func(l *lock.Lock) { printer = l }, fx.ParamTags(`name:"printer"`))),
		fxmodule.RunLeader("e", func(ctx context.Context, _ *election.Term) error { <-ctx.Done(); return nil }),
		fxmodule.Join("g", group.Member{Name: "me"}), fxmodule.Consume("q", 2, b.work), fxmodule.Consume("p", 1, b.work))
	must(printer.Lock(bubble.Minute(t)))
	time.Sleep(time.Minute) // everything is in hand
	return b
}

func (b *busy) work(_ context.Context, i *queue.Item) error {
	<-b.finish
	if string(i.Data()) == "fails" {
		return errors.New("no paper")
	}
	return nil
}

// stop stops the application, whose functions finish at once, and closes the other session beside
// it. It returns how long either took, and the log of the first moment.
func (b *busy) stop() (app, alone time.Duration, said string, err error) {
	begun := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	closed := bubble.Begin(func() time.Duration { _ = b.alone.Close(ctx); return time.Since(begun) })
	stopped := bubble.Begin(func() error { return b.app.Stop(ctx) })
	synctest.Wait()
	said = b.log.String()
	close(b.finish)
	err = <-stopped
	return time.Since(begun), <-closed, said, err
}

// Only the end of the session, which releases everything, waits for a connection: the stop takes as
// long as that, with any work in hand. The log says at once what it waits for.
func TestAStopInAnOutageTakesAsLongAsTheEndOfTheSession(t *testing.T) {
	t.Parallel()
	for name, since := range map[string]time.Duration{"that began a second ago": time.Second, "of a minute": time.Minute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBusy(t)
				b.server.Kill(0)
				time.Sleep(since)
				took, alone, said, err := b.stop()
				line := `level=WARN msg="the application stops, and waits for a connection to ZooKeeper" up_to=14.4s cause="no connection to ZooKeeper for ` + since.String() + `: `
				require.Equal(t, 1, strings.Count(said, line), said)
				require.Equal(t, alone, took)
				require.ErrorContains(t, err, "close: no connection to ZooKeeper for ")
				require.NotContains(t, err.Error(), "fxmodule.", "the session's end is that of all")
				time.Sleep(time.Minute) // the session is given up for good
			})
		})
	}
}

// If the connection comes back, what is in hand is settled first.
func TestAStopInAShortOutageLosesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBusy(t)
		b.server.Kill(0)
		time.Sleep(time.Second)
		time.AfterFunc(3*time.Second, func() { _ = b.server.Restart(0) })
		took, _, _, err := b.stop()
		require.NoError(t, err)
		require.Less(t, took, 5*time.Second)
		require.Empty(t, b.server.Sessions(), "which have ended, and with them what they held")

		s := bubble.Open(t, b.server.Hosts(), session.WithDialer(b.server.Dialer()))
		require.Zero(t, length(t, put(t, s, "/p")))
		left := must(put(t, s, "/q").List(bubble.Minute(t), 10))
		require.Len(t, left, 2, "one was not received")
		require.Equal(t, []int{0, 1}, []int{left[0].Attempts, left[1].Attempts})
		require.Equal(t, "no paper", left[1].LastError.Error)
	})
}

// Items that a consumer has taken for good, and that were not received, are not put back by the end
// of a session: the stop waits for that.
func TestAStopInAnOutagePutsBackWhatWasTakenForGood(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := zktest.Start(t)
		s := bubble.Open(t, srv.Hosts(), session.WithDialer(srv.Dialer()))
		q := put(t, s, "/q", "taken", "fetched", "fetched")
		a := app(t, fx.Supply(fxmodule.Default(srv.Hosts()...)), fxtest.Server(srv), fxmodule.Queue("q", "/q"),
			fxmodule.Consume("q", 1, func(context.Context, *queue.Item) error { time.Sleep(3*time.Minute + time.Second); return nil }, queue.WithAutoAck(), queue.WithPrefetch(2)))
		time.Sleep(time.Minute)
		require.Zero(t, length(t, q))
		srv.Kill(0)
		time.Sleep(2 * time.Minute)
		time.AfterFunc(3*time.Second, func() { _ = srv.Restart(0) })
		ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
		defer cancel()
		require.NoError(t, a.Stop(ctx))
		require.Equal(t, 2, length(t, q))
	})
}
