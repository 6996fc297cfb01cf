package session_test

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/session"
)

// journal is what was logged.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

func (j *journal) logger() session.Option {
	return session.WithLogger(slog.New(slog.NewTextHandler(j, nil)))
}

func TestAPanicInATaskEndsTheEpochAndNotTheProcess(t *testing.T) {
	inBubble(t, func(w *world) {
		var log journal
		s := w.open(log.logger())
		a, b := w.client(s), w.client(s)
		h := a.hold(w, 1, "/line")
		first := id(s)
		b.Read(1, "/line", false, func(session.Seen) { panic("in a task") })
		<-h.Done()
		require.ErrorIs(w, h.Err(), session.ErrRestarted)
		synctest.Wait()
		require.Contains(w, log.String(), "in a task")
		require.Contains(w, log.String(), "guard_test.go", "where it happened")
		_, alive := w.srv.Session(first)
		require.False(w, alive)
		require.NoError(w, s.Connect(w.ctx))
		require.EqualValues(w, 2, s.Status().Epoch)
		require.True(w, b.read(w, 2, "/line", false).Exists)
	})
}

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
			_, err := s.Set(w.ctx, "/line", nil, -1)
			require.NoError(w, err)
		}
		for _, said := range []string{"while it was dialled", "while it was read", "while it was written to", "guard_test.go"} {
			require.Contains(w, log.String(), said)
		}
		require.EqualValues(w, 1, s.Status().Epoch)
		require.True(w, h.Valid())
	})
}

// hoarse is the handler of a logger that panics.
type hoarse struct{ slog.Handler }

func (h hoarse) Enabled(context.Context, slog.Level) bool      { panic("enabled?") }
func (h hoarse) WithAttrs([]slog.Attr) slog.Handler            { panic("with attributes") }
func (h hoarse) WithGroup(string) slog.Handler                 { panic("with a group") }
func (h hoarse) Handle(_ context.Context, r slog.Record) error { panic(r.Message) }

// willing is one that panics only when it is to handle something.
type willing struct{ hoarse }

func (h willing) Enabled(context.Context, slog.Level) bool { return true }
func (h willing) WithAttrs([]slog.Attr) slog.Handler       { return h }

func TestALogHandlerThatPanicsEndsNothing(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]slog.Handler{"always": hoarse{}, "when it handles": willing{}} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *world) {
				s := w.open(session.WithLogger(slog.New(handler)))
				t := w.client(s)
				h := t.hold(w, 1, "/line")
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
				require.NoError(w, s.Close(w.ctx))
			})
		})
	}
}
