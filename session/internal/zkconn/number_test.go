package zkconn_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// A server takes a transaction that the leader commits for its client's own if session and xid are
// those of the client's oldest request (ZooKeeper's CommitProcessor). The servers here do so. One
// that was sent on the connection before, and is committed late, answers nothing on the next one.
func TestALateCommitAnswersNoLaterRequest(t *testing.T) {
	var late jute.Request // at the leader, and not committed yet
	inBubble(t, func(b *bench) {
		v := b.connected()
		require.NoError(b, b.Sync("/"))
		first := bubble.Begin(func() error { _, err := b.Create("/first", nil, jute.FlagPersistent, 0, world); return err })
		synctest.Wait()
		v.hangUp()
		require.ErrorIs(b, got(b, first), zkconn.ErrNoReply)
		require.Equal(b, "/first", late.Path)

		time.Sleep(time.Second)
		b.connected()
		for range 10 {
			path, err := b.Create("/next", nil, jute.FlagPersistent, 0, world)
			require.NoError(b, err)
			require.Equal(b, "/next", path, "it got the answer to another one")
		}
	}, func(f *fake, _ *zkconn.Config) {
		f.answer = func(_ *visit, q jute.Request) (jute.Reply, bool) {
			switch {
			case q.Path == "/first":
				late = q
				return jute.Reply{}, false
			case late.Path != "" && q.Op.Writes() && q.Xid == late.Xid:
				return success(late), true
			}
			return success(q), true
		}
	})
}
