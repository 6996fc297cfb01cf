package zkconn_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// No server has more results than a transaction has operations. One that sends more is not
// believed, and they take no memory.
func TestATransactionWithTooManyResults(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.connected()
		_, err := b.Multi([]jute.Request{{Op: jute.OpCheck, Path: "/a"}})
		require.ErrorIs(b, err, zkconn.ErrNoReply)
		require.ErrorContains(b, last[zkconn.Down](b.sink).Cause, "length")
	}, func(f *fake, _ *zkconn.Config) {
		f.answer = func(*visit, jute.Request) (jute.Reply, bool) {
			return jute.Reply{Results: []jute.Result{{Op: jute.OpCheck}, {Op: jute.OpCheck}}}, true
		}
	})
}

// A server that took long for the connect request is given more time for the next step, but not
// more than the session may last.
func TestAStepOfConnectingTakesNoLongerThanTheSession(t *testing.T) {
	inBubble(t, func(b *bench) {
		defer func() { // so that no server sleeps any more
			b.script(func() { b.refuse = func(string) error { return errRefused } })
			time.Sleep(time.Hour)
		}()
		time.Sleep(time.Minute + timeout + timeout/6)
		synctest.Wait()
		require.Len(b, b.dialled(), 2)
	}, func(f *fake, cfg *zkconn.Config) {
		cfg.Slow = true
		cfg.Auth = []zkconn.Credential{{Scheme: "digest", Secret: []byte("a:b")}}
		f.welcome = func(q jute.ConnectRequest) (jute.ConnectResponse, bool) {
			time.Sleep(time.Minute)
			return jute.ConnectResponse{Timeout: q.Timeout, SessionID: 7, Password: make([]byte, 16)}, true
		}
		f.answer = func(*visit, jute.Request) (jute.Reply, bool) { return jute.Reply{}, false }
	})
}
