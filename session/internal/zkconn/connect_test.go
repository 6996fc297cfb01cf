package zkconn_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

func TestUpTellsWhatWasNegotiated(t *testing.T) {
	inBubble(t, func(b *bench) {
		began := time.Now()
		b.connected()
		require.Equal(b, zkconn.Up{SessionID: 42, Timeout: 4 * time.Second, Server: "a:1", Address: "a:1", Asked: began, Created: true}, last[zkconn.Up](b.sink))
		require.EqualValues(b, 42, b.SessionID())
	}, func(f *fake, _ *zkconn.Config) {
		f.welcome = func(q jute.ConnectRequest) (jute.ConnectResponse, bool) {
			return jute.ConnectResponse{Timeout: 4000, SessionID: 42, Password: make([]byte, 16)}, true
		}
	})
}

func TestRequestIsOnlyTakenWhileThereIsASession(t *testing.T) {
	inBubble(t, func(b *bench) {
		_, err := b.Create("/a", nil, jute.FlagPersistent, 0, nil)
		require.ErrorIs(b, err, zkconn.ErrNotSent)
		time.Sleep(10 * time.Second)
		_, err = b.Create("/a", nil, jute.FlagPersistent, 0, nil)
		require.ErrorIs(b, err, zkconn.ErrNotSent)
		require.Zero(b, b.SessionID())

		b.script(func() { b.refuse = nil })
		time.Sleep(2 * time.Second) // the rest of a dial that hangs, a second at most, and the longest pause, which is another
		v := b.connected()
		require.Empty(b, v.ops(), "what was refused came back")
		_, err = b.Create("/a", nil, jute.FlagPersistent, 0, nil)
		require.NoError(b, err)
	}, func(f *fake, _ *zkconn.Config) {
		f.refuse = func(string) error { return errSilent }
	})
}

func TestLostConnection(t *testing.T) {
	inBubble(t, func(b *bench) {
		v := b.connected()
		time.Sleep(time.Minute)
		b.script(func() { b.answer = func(*visit, jute.Request) (jute.Reply, bool) { return jute.Reply{}, false } })
		get := bubble.Begin(func() error { _, _, err := b.Get("/a", false); return err })
		set := bubble.Begin(func() error { _, err := b.Set("/a", nil, -1); return err })
		pending(b, get)
		pending(b, set)

		b.script(func() { b.answer = nil })
		v.hangUp()
		require.ErrorIs(b, got(b, get), zkconn.ErrNoReply)
		require.ErrorIs(b, got(b, set), zkconn.ErrNoReply)
		require.Len(b, b.visits, 2)
		events := b.sink.all()
		require.IsType(b, zkconn.Up{}, events[0])
		require.IsType(b, zkconn.Down{}, events[1])
		require.IsType(b, zkconn.Up{}, events[2])
		require.Len(b, events, 3)
		require.EqualValues(b, 7, b.visit(1).hello.SessionID)
		require.Empty(b, b.visit(1).ops())
	})
}
