package zkconn_test

import (
	"bytes"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// afterwards lets the server say something else when the client comes back to it.
func (b *bench) afterwards(resp jute.ConnectResponse) {
	b.script(func() {
		b.welcome = func(jute.ConnectRequest) (jute.ConnectResponse, bool) { return resp, true }
	})
}

func TestExpiry(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.connected()
		time.Sleep(time.Minute)
		b.afterwards(jute.ConnectResponse{Password: make([]byte, 16)}) // what a server says of an expired session
		get := bubble.Begin(func() error { _, _, err := b.Get("/a", false); return err })
		synctest.Wait()
		b.visit(0).hangUp()
		synctest.Wait()

		events := b.sink.all()
		require.Equal(b, zkconn.Ended{Cause: zkconn.ErrExpired}, events[len(events)-1])
		require.NoError(b, got(b, get))
		_, _, err := b.Get("/a", false)
		require.ErrorIs(b, err, zkconn.ErrEnded)

		time.Sleep(time.Hour)
		require.Len(b, b.dialled(), 2, "it dialled on after the end")
		begun := time.Now()
		require.NoError(b, b.Close(within(b, time.Second)))
		require.Zero(b, time.Since(begun))
		require.Len(b, b.sink.all(), len(events), "Ended is the last event")
	})
}

// H4: what was asked in the old session must not run in the next one, whatever the server does.
func TestReplacedSession(t *testing.T) {
	inBubble(t, func(b *bench) {
		v := b.connected()
		time.Sleep(time.Minute)
		b.afterwards(jute.ConnectResponse{Timeout: 6000, SessionID: 8, Password: make([]byte, 16)})
		b.script(func() {
			b.answer = func(_ *visit, q jute.Request) (jute.Reply, bool) { return success(q), q.Op == jute.OpCloseSession }
		})
		set := bubble.Begin(func() error { _, err := b.Set("/a", nil, -1); return err })
		pending(b, set)
		v.hangUp()
		require.ErrorIs(b, got(b, set), zkconn.ErrNoReply)
		require.Equal(b, zkconn.Ended{Cause: zkconn.ErrReplaced}, last[zkconn.Ended](b.sink))
		require.Equal(b, []jute.Op{jute.OpCloseSession}, b.visit(1).ops(), "the stray session is closed, and nothing else asked in it")
		require.EqualValues(b, 7, b.SessionID())
		time.Sleep(time.Hour)
		require.Len(b, b.dialled(), 2)
	})
}

func TestCredentialsComeFirstOnEveryConnection(t *testing.T) {
	var log bytes.Buffer
	var mu sync.Mutex
	inBubble(t, func(b *bench) {
		v := b.connected()
		require.Equal(b, []jute.Op{jute.OpSetAuth, jute.OpSetAuth}, v.ops())
		require.Equal(b, "digest", v.asked()[0].Scheme)
		require.Equal(b, []byte("me:hunter2"), v.asked()[0].Data)
		_, _, err := b.Get("/a", true)
		require.NoError(b, err)
		time.Sleep(time.Minute)
		v.hangUp()
		synctest.Wait()
		require.Equal(b, []jute.Op{jute.OpSetAuth, jute.OpSetAuth, jute.OpSetWatches}, b.visit(1).ops())
		b.Abandon()
		mu.Lock()
		defer mu.Unlock()
		require.NotContains(b, log.String(), "hunter2")
		require.Contains(b, log.String(), "connected")
	}, func(_ *fake, cfg *zkconn.Config) {
		cfg.Auth = []zkconn.Credential{{Scheme: "digest", Secret: []byte("me:hunter2")}, {Scheme: "digest", Secret: []byte("us:hunter2")}}
		cfg.Logger = slog.New(slog.NewTextHandler(lockedWriter{&mu, &log}, &slog.HandlerOptions{Level: slog.LevelDebug}))
		require.NotContains(t, cfg.Auth[0].String()+cfg.Auth[0].GoString(), "hunter2")
	})
}

type lockedWriter struct {
	mu *sync.Mutex
	w  *bytes.Buffer
}

func (l lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

func TestRefusedCredential(t *testing.T) {
	inBubble(t, func(b *bench) {
		synctest.Wait()
		require.Equal(b, []zkconn.Event{zkconn.Ended{Cause: zkconn.ErrAuthFailed}}, b.sink.all(), "no Up before the credentials are accepted")
		_, _, err := b.Get("/a", false)
		require.ErrorIs(b, err, zkconn.ErrEnded)
	}, func(f *fake, cfg *zkconn.Config) {
		cfg.Auth = []zkconn.Credential{{Scheme: "digest", Secret: []byte("me:wrong")}}
		f.answer = func(v *visit, q jute.Request) (jute.Reply, bool) {
			v.reply(q, failure(jute.AuthFailed))
			v.hangUp()
			return jute.Reply{}, false
		}
	})
}

// The session of a refused credential is closed over the next connection, and nothing else is asked
// in it.
func TestTheSessionOfARefusedCredentialIsClosed(t *testing.T) {
	inBubble(t, func(b *bench) {
		time.Sleep(time.Second)
		require.Equal(b, []jute.Op{jute.OpSetAuth}, b.visit(0).ops())
		require.Equal(b, []jute.Op{jute.OpCloseSession}, b.visit(1).ops())
		require.EqualValues(b, 7, b.visit(1).hello.SessionID)
		time.Sleep(time.Hour)
		require.Len(b, b.dialled(), 2, "that was it")
		require.NoError(b, b.Close(within(b, time.Second)), "it is confirmed")
		require.Equal(b, []zkconn.Event{zkconn.Ended{Cause: zkconn.ErrAuthFailed}}, b.sink.all())
	}, func(f *fake, cfg *zkconn.Config) {
		cfg.Auth = []zkconn.Credential{{Scheme: "digest", Secret: []byte("me:wrong")}}
		f.answer = func(v *visit, q jute.Request) (jute.Reply, bool) {
			if q.Op == jute.OpSetAuth {
				v.reply(q, failure(jute.AuthFailed))
				v.hangUp()
				return jute.Reply{}, false
			}
			return success(q), true
		}
	})
}

// B70: however often the server changes its mind, there is one end and nothing after it.
func TestB70_ExpiryIsFinal(t *testing.T) {
	inBubble(t, func(b *bench) {
		v := b.connected()
		time.Sleep(time.Minute)
		b.afterwards(jute.ConnectResponse{Password: make([]byte, 16)})
		v.hangUp()
		synctest.Wait()
		b.script(func() { b.welcome = nil })
		time.Sleep(time.Hour)
		ends, _ := told[zkconn.Ended](b.sink)
		require.Len(b, ends, 1)
		ups, _ := told[zkconn.Up](b.sink)
		require.Len(b, ups, 1)
	})
}
