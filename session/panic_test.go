// What panics, and what functions of the application's do: the dialer, the log handler.

package session_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/session"
)

func TestAPanicInAnAlarmIsNobodyElsesLoss(t *testing.T) {
	inBubble(t, func(w *world) {
		var log journal
		s := w.open(log.logger())
		a := w.client(s)
		var ended atomic.Int32
		for range 3 {
			j := a.join(w, 1, session.Join{Parent: "/line", Name: "lock-"})
			require.NoError(w, j.Err)
			_, err := a.Hold(1, j.Path, j.Stat.Czxid, func(error) {
				if ended.Add(1) == 1 {
					panic("when trust ended")
				}
			})
			require.NoError(w, err)
		}
		heal := w.srv.Partition(id(s))
		<-time.After(s.Status().Timeout)
		require.EqualValues(w, 3, ended.Load(), "each of them is told")
		require.Contains(w, log.String(), "when trust ended")
		heal()
		<-time.After(2 * s.Status().Timeout)
		require.Equal(w, session.Connected, s.Status().State)
		require.EqualValues(w, 2, s.Status().Epoch)
	})
}

// moody is a connection that panics.
type moody struct {
	net.Conn
	read, write *atomic.Bool
}

func (m moody) Read(p []byte) (int, error) {
	n, err := m.Conn.Read(p)
	if m.read.CompareAndSwap(true, false) {
		panic("while it was read")
	}
	return n, err
}

func (m moody) Write(p []byte) (int, error) {
	if m.write.CompareAndSwap(true, false) {
		panic("while it was written to")
	}
	return m.Conn.Write(p)
}

func TestAPanicInTheLinkCostsAConnection(t *testing.T) {
	inBubble(t, func(w *world) {
		var log journal
		var dial, read, write atomic.Bool
		dial.Store(true)
		s := w.open(log.logger(), session.WithDialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
			if dial.CompareAndSwap(true, false) {
				panic("while it was dialled")
			}
			conn, err := w.srv.Dialer()(ctx, network, addr)
			return moody{conn, &read, &write}, err
		}))
		h := w.client(s).hold(w, 1, "/line")
		for _, point := range []*atomic.Bool{&read, &write, &dial} {
			point.Store(true)
			if point == &dial {
				w.srv.Disconnect(id(s))
			}
			<-time.After(time.Second)
			for point.Load() {
				require.NoError(w, s.Sync(w.ctx, "/"))
			}
			require.NoError(w, s.Sync(w.ctx, "/"))
			w.write(s, "/line", nil)
		}
		for _, said := range []string{"while it was dialled", "while it was read", "while it was written to", "panic_test.go"} {
			require.Contains(w, log.String(), said)
		}
		require.EqualValues(w, 1, s.Status().Epoch)
		require.True(w, h.Valid())
	})
}

// hoarse is the handler of a logger that panics.
type hoarse struct{ slog.Handler }

func (h hoarse) Enabled(context.Context, slog.Level) bool { panic("enabled?") }

func (h hoarse) WithAttrs([]slog.Attr) slog.Handler { panic("with attributes") }

func (h hoarse) WithGroup(string) slog.Handler { panic("with a group") }

func (h hoarse) Handle(_ context.Context, r slog.Record) error { panic(r.Message) }

// willing is one that panics only when it is to handle something.
type willing struct{ hoarse }

func (h willing) Enabled(context.Context, slog.Level) bool { return true }

func (h willing) WithAttrs([]slog.Attr) slog.Handler { return h }

// odd is one that does something else instead.
type odd struct {
	willing
	does func()
}

func (h odd) WithAttrs([]slog.Attr) slog.Handler { return h }

func (h odd) Handle(context.Context, slog.Record) error {
	h.does()
	return nil
}

func TestALogHandlerEndsNothing(t *testing.T) {
	each(t, map[string]func(letGo chan struct{}) slog.Handler{
		"it always panics":                   func(chan struct{}) slog.Handler { return hoarse{} },
		"it panics when it handles":          func(chan struct{}) slog.Handler { return willing{} },
		"it ends its goroutine":              func(chan struct{}) slog.Handler { return odd{does: runtime.Goexit} },
		"it never returns":                   func(letGo chan struct{}) slog.Handler { return odd{does: func() { <-letGo }} },
		"it takes a second for each message": func(chan struct{}) slog.Handler { return odd{does: func() { time.Sleep(time.Second) }} },
	}, func(w *world, handler func(letGo chan struct{}) slog.Handler) {
		letGo := make(chan struct{})
		defer close(letGo)
		s, _, h := w.holding(session.WithLogger(slog.New(handler(letGo))))
		w.srv.Disconnect(id(s))
		<-time.After(time.Second)
		require.True(w, h.Valid())
		_, open := <-s.WatchData(w.ctx, "no path")
		require.False(w, open, "it logs what is wrong with it")
		w.srv.Expire(id(s))
		<-time.After(time.Minute)
		require.ErrorIs(w, h.Err(), session.ErrExpired)
		require.Equal(w, session.Connected, s.Status().State)
		require.EqualValues(w, 2, s.Status().Epoch)
		session.PanicSession(s, "this too")
		<-time.After(time.Minute)
		require.EqualValues(w, 3, s.Status().Epoch)
		began := time.Now()
		require.NoError(w, s.Close(w.ctx))
		require.LessOrEqual(w, time.Since(began), 100*time.Millisecond)
		<-time.After(time.Minute)
	})
}

// A panic in the session's own actor, or in one of its tasks, begins a new epoch: its watches are
// lost with it. The old ZooKeeper session is closed, so that its znodes go at once.
func TestAPanicInTheSessionBeginsAnEpoch(t *testing.T) {
	type row struct {
		where string
		fail  func(s *session.Session, c *client)
	}
	each(t, map[string]row{
		"its actor": {"export_test.go", func(s *session.Session, _ *client) { session.PanicSession(s, "on purpose") }},
		"a task": {"panic_test.go", func(_ *session.Session, c *client) {
			c.Read(1, "/line", false, func(session.Seen) { panic("on purpose") })
		}},
	}, func(w *world, r row) {
		var log journal
		s, t := w.openClient(log.logger())
		first := id(s)
		h := t.hold(w, 1, "/line")
		states := s.WatchData(w.ctx, h.Path())
		require.True(w, newest(w, states).Exists)
		t.told()
		r.fail(s, w.client(s))
		<-h.Done()
		require.ErrorIs(w, h.Err(), session.ErrRestarted)
		require.ErrorIs(w, h.Err(), session.ErrLost)
		synctest.Wait()
		require.Contains(w, log.String(), "on purpose")
		require.Contains(w, log.String(), r.where, "where it happened")
		_, alive := w.srv.Session(first)
		require.False(w, alive, "the old ZooKeeper session is closed, not left to expire")
		require.NoError(w, s.Connect(w.ctx))
		require.Equal(w, []string{"ended 1: " + session.ErrRestarted.Error(), "began 2"}, t.told())
		require.False(w, newest(w, states).Exists)
		w.create(s, h.Path(), nil, session.Parents())
		require.True(w, newest(w, states).Exists, "watches go on")
	})
}

// What was asked when the actor failed is answered all the same: its epoch is over.
func TestReadsAreAnsweredWhenTheSessionPanics(t *testing.T) {
	inBubble(t, func(w *world) {
		s, t := w.openClient()
		require.NoError(w, s.EnsurePath(w.ctx, "/a"))
		heal := w.srv.Isolate()
		set := bubble.Begin(func() error { _, err := s.Set(w.ctx, "/a", nil, -1); return err }) // holds up what is behind it
		synctest.Wait()
		var seen []session.Seen
		for range 3 { // one that arms, two that wait for it
			t.Read(1, "/a", true, func(a session.Seen) { seen = append(seen, a) })
		}
		synctest.Wait()
		require.Empty(w, seen)
		session.PanicSession(s, "on purpose")
		synctest.Wait()
		require.Len(w, seen, 3)
		for _, a := range seen {
			require.ErrorIs(w, a.Err, session.ErrExpired)
		}
		heal()
		require.NoError(w, <-set, "it was sent before, and the farewell runs behind it")
	})
}

func TestASessionThatIsGivenUpEnds(t *testing.T) {
	inBubble(t, func(w *world) {
		system := actors.New(actors.WithRestarts(actors.Restarts{Limit: 3}))
		s := w.open(session.WithSystem(system))
		bystander := w.open(session.WithSystem(system))
		t := w.client(s)
		h := t.hold(w, 1, "/line")
		states := s.WatchData(w.ctx, "/line")
		require.True(w, newest(w, states).Exists)
		for range 4 {
			session.PanicSession(s, errors.New("on purpose"))
			time.Sleep(10 * time.Second)
		}
		<-s.Done()
		require.ErrorIs(w, s.Err(), actors.ErrGivenUp)
		require.ErrorContains(w, s.Err(), "on purpose")
		<-h.Done()
		_, _, err := s.Get(w.ctx, "/")
		require.ErrorIs(w, err, session.ErrClosed)
		require.ErrorIs(w, err, actors.ErrGivenUp)
		for range states {
			// until it closes
		}
		require.Contains(w, last(t.told()), "session ended: ")
		require.NoError(w, s.Close(w.ctx))
		require.Len(w, w.srv.Sessions(), 1)
		require.NoError(w, bystander.Sync(w.ctx, "/"), "nothing else is touched")
		require.EqualValues(w, 1, bystander.Status().Epoch)
		require.NoError(w, bystander.Close(w.ctx))
		require.NoError(w, system.Close(w.ctx))
	})
}

func TestAPanicInASharedWatchIsItsOwn(t *testing.T) {
	inBubble(t, func(w *world) {
		system := actors.New(actors.WithRestarts(actors.Restarts{Limit: 3}))
		s := w.open(session.WithSystem(system))
		w.create(s, "/a", []byte("1"))
		states, others := s.WatchData(w.ctx, "/a"), s.WatchChildren(w.ctx, "/a")
		require.Equal(w, "1", string(newest(w, states).Bytes))
		require.True(w, newest(w, others).Exists)
		require.True(w, session.PanicWatchData(s, "/a", "on purpose"))
		w.write(s, "/a", []byte("2"))
		time.Sleep(time.Second)
		require.Equal(w, "2", string(newest(w, states).Bytes), "it goes on")
		require.EqualValues(w, 1, s.Status().Epoch, "and nothing else is touched")

		for range 3 {
			require.True(w, session.PanicWatchData(s, "/a", "on purpose"))
			time.Sleep(10 * time.Second)
		}
		for range states {
			// until it closes
		}
		require.NoError(w, s.Err())
		quiet(w, others)
		again := s.WatchData(w.ctx, "/a")
		require.Equal(w, "2", string(newest(w, again).Bytes), "a new subscription begins anew")
		require.NoError(w, s.Close(w.ctx))
		require.NoError(w, system.Close(w.ctx))
	})
}

func TestASessionEndsWithItsSystem(t *testing.T) {
	inBubble(t, func(w *world) {
		system := actors.New()
		s, _, h := w.holding(session.WithSystem(system))
		require.NoError(w, system.Close(w.ctx))
		<-s.Done()
		require.ErrorIs(w, s.Err(), session.ErrClosed)
		<-h.Done()
		require.NoError(w, s.Close(w.ctx))
		require.Empty(w, w.srv.Sessions())
	})
}

func TestTheTreeShowsWhatLives(t *testing.T) {
	inBubble(t, func(w *world) {
		system := actors.New()
		s := w.open(session.WithSystem(system), session.WithNamespace("/ns"))
		ctx := w.Context()
		_ = s.WatchData(ctx, "/a")
		synctest.Wait()
		tree := system.Tree()
		require.Len(w, tree, 1)
		require.Equal(w, "session", tree[0].Kind)
		require.Contains(w, tree[0].Name, "/ns")
		require.Len(w, tree[0].Children, 2)
		require.Equal(w, "session", tree[0].Children[0].Name)
		require.Equal(w, "connected", tree[0].Children[0].Phase)
		require.Equal(w, "data:/a", tree[0].Children[1].Name)
		require.Equal(w, "watching", tree[0].Children[1].Phase)
		require.NoError(w, s.Close(w.ctx))
		require.Empty(w, system.Tree())
		require.NoError(w, system.Close(w.ctx))
	})
}

// curt is a connection that refuses deadlines, as one through SSH does.
type curt struct{ net.Conn }

func (curt) SetDeadline(time.Time) error      { return errors.New("no deadlines") }
func (curt) SetReadDeadline(time.Time) error  { return errors.New("no deadlines") }
func (curt) SetWriteDeadline(time.Time) error { return errors.New("no deadlines") }

func TestAConnectionThatRefusesDeadlinesIsLeftWhenItIsSilent(t *testing.T) {
	inBubble(t, func(w *world) {
		host := w.srv.Host("a")
		s := w.open(session.WithDialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := host.Dialer()(ctx, network, addr)
			return curt{conn}, err
		}))
		w.create(s, "/a", nil)
		time.Sleep(time.Hour)
		require.EqualValues(w, 1, s.Status().Epoch)
		heal := host.Partition()
		time.Sleep(s.Status().Timeout)
		require.NotEqual(w, session.Connected, s.Status().State)
		heal()
		time.Sleep(time.Minute)
		require.Equal(w, session.Connected, s.Status().State)
		require.True(w, w.exists(s, "/a"))
	})
}

// Whatever a dialer does once, the session has a connection soon after, and is closed in time.
func TestADialerEndsNothing(t *testing.T) {
	each(t, map[string]func(letGo chan struct{}){
		"it panics":             func(chan struct{}) { panic("on purpose") },
		"it ends its goroutine": func(chan struct{}) { runtime.Goexit() },
		"it never returns":      func(letGo chan struct{}) { <-letGo },
		"it is slow":            func(chan struct{}) { time.Sleep(time.Minute) },
	}, func(w *world, does func(letGo chan struct{})) {
		var log journal
		var odd atomic.Bool
		letGo := make(chan struct{})
		defer close(letGo)
		s := w.open(log.logger(), session.WithDialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
			if odd.CompareAndSwap(true, false) {
				does(letGo)
			}
			return w.srv.Dialer()(ctx, network, addr)
		}))
		odd.Store(true)
		w.srv.Disconnect(id(s))
		time.Sleep(2 * time.Minute)
		require.False(w, odd.Load())
		require.Equal(w, session.Connected, s.Status().State)
		odd.Store(true)
		w.srv.Disconnect(id(s))
		time.Sleep(time.Second)
		began := time.Now()
		_ = s.Close(w.ctx)
		require.LessOrEqual(w, time.Since(began), 12*time.Second, "the timeout, and a little for the dialer")
		time.Sleep(2 * time.Minute)
	})
}
