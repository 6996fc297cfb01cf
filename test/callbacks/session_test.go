package callbacks_test

import (
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http/httptest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/actors"
	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/session"
)

// handler is a log handler.
type handler struct{ *world }

func (h handler) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelInfo }
func (h handler) WithAttrs([]slog.Attr) slog.Handler           { return h }
func (h handler) WithGroup(string) slog.Handler                { return h }
func (h handler) Handle(_ context.Context, r slog.Record) error {
	h.act()
	_, err := h.log.Write([]byte(r.Message + "\n"))
	return err
}

func sessionLogger(w *world) { logger(w, session.WithLogger(slog.New(handler{w}))) }

func defaultLogger(w *world) {
	before := slog.Default()
	slog.SetDefault(slog.New(handler{w}))
	defer slog.SetDefault(before)
	logger(w)
}

// logger has the session lose two epochs, of which it logs.
func logger(w *world, opts ...session.Option) {
	s := w.Session(opts...)
	for epoch := range 2 {
		w.armed.Store(true)
		g := w.held(s, "/a")
		w.Server.Disconnect(s.Status().SessionID)
		time.Sleep(time.Second)
		require.True(w, g.Valid())
		w.Server.Expire(s.Status().SessionID)
		time.Sleep(50 * time.Second)
		require.ErrorIs(w, g.Err(), session.ErrLost)
		require.Equal(w, session.Connected, s.Status().State)
		require.EqualValues(w, epoch+2, s.Status().Epoch)
	}
	w.closes(s, 100*time.Millisecond)
	if w.way != never {
		time.Sleep(3 * time.Minute)
		require.NotZero(w, w.log.Count("\n"), "other lines are there")
	}
}

// parrot is an actor that panics at each message but one.
type parrot struct{ heard chan string }

func (p parrot) Receive(m string) {
	if m != "hello" {
		panic(m)
	}
	p.heard <- m
}

func actorsLogger(w *world) {
	system, heard := actors.New(actors.WithLogger(slog.New(handler{w}))), make(chan string, 1)
	ref, err := actors.Spawn(system.Scope(), actors.Spec[string]{New: func(actors.Self[string]) actors.Receiver[string] { return parrot{heard} }})
	require.NoError(w, err)
	for range 2 {
		w.armed.Store(true)
		require.True(w, ref.Tell("panic"))
		time.Sleep(time.Minute)
		require.True(w, ref.Tell("hello"))
		require.Equal(w, "hello", bubble.Get(w, heard))
	}
	began := time.Now()
	require.NoError(w, system.Close(bubble.Minute(w)))
	require.Zero(w, time.Since(began))
	time.Sleep(time.Minute)
}

func dialer(w *world) {
	connecting(w, true, session.WithDialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
		w.act()
		return w.Server.Dialer()(ctx, network, addr)
	}))
}

// secure has the server behind another that speaks TLS.
func secure(w *world) {
	issuer := httptest.NewUnstartedServer(nil)
	issuer.StartTLS()
	issuer.Close()
	connecting(w, true, session.WithDialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
		to, err := w.Server.Dialer()(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		near, far := net.Pipe()
		from := tls.Server(far, issuer.TLS)
		for a, b := range map[net.Conn]net.Conn{from: to, to: from} {
			go func() { // ends with either
				_, _ = io.Copy(a, b)
				_, _ = to.Close(), far.Close()
			}()
		}
		return near, nil
	}), session.WithTLS(&tls.Config{InsecureSkipVerify: true, VerifyConnection: func(tls.ConnectionState) error {
		w.act()
		return nil
	}}))
}

// of is what a connection does oddly.
type of struct{ read, write, close bool }

type odd struct {
	net.Conn
	w  *world
	of of
}

func (o odd) act(does bool) {
	if does {
		o.w.act()
	}
}

func (o odd) Read(p []byte) (int, error) {
	n, err := o.Conn.Read(p)
	o.act(o.of.read)
	return n, err
}

func (o odd) Write(p []byte) (int, error) {
	o.act(o.of.write)
	return o.Conn.Write(p)
}

func (o odd) Close() error {
	_ = o.Conn.Close()
	o.act(o.of.close)
	return nil
}

func connection(what of) func(w *world) {
	return func(w *world) {
		connecting(w, what.close, session.WithDialer(func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := w.Server.Dialer()(ctx, network, addr)
			return odd{conn, w, what}, err
		}))
	}
}

// connecting has a session get connections again and again, after they were lost or while it pings.
func connecting(w *world, lost bool, opts ...session.Option) {
	s := w.Session(append(opts, w.log.Option())...)
	g := w.held(s, "/a")
	for range 5 {
		w.armed.Store(true)
		if lost {
			w.Server.Disconnect(s.Status().SessionID)
		}
		time.Sleep(2 * time.Minute)
		require.False(w, w.armed.Load())
		require.Equal(w, session.Connected, s.Status().State)
		w.sound(s, g)
	}
	w.named()
	w.armed.Store(true)
	if lost {
		w.Server.Disconnect(s.Status().SessionID)
		time.Sleep(time.Millisecond)
	}
	w.closes(s, 12*time.Second)
	time.Sleep(2 * time.Minute)
}
