package zkconn_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// An answer that does not come while later ones do is lost, and so is the connection: nobody else
// would ever tell the caller.
func TestALostAnswerIsFoundOutByTheNext(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.connected()
		b.script(func() {
			b.answer = func(_ *visit, q jute.Request) (jute.Reply, bool) { return success(q), q.Op != jute.OpCreate }
		})
		created := make(chan error, 1)
		go func() { _, err := b.Create("/a", nil, jute.FlagEphemeral, 0, world); created <- err }()
		synctest.Wait()
		began := time.Now()
		_, _, err := b.Children("/", false)
		require.Error(b, err)
		require.ErrorIs(b, <-created, zkconn.ErrNoReply)
		require.Zero(b, time.Since(began))
	})
}

// With nothing else to overtake it, the answers to two pings do: that takes less than the session's
// timeout.
func TestALostAnswerIsFoundOutByPings(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.connected()
		b.script(func() {
			b.answer = func(_ *visit, q jute.Request) (jute.Reply, bool) { return success(q), q.Op != jute.OpCreate }
		})
		began := time.Now()
		_, err := b.Create("/a", nil, jute.FlagEphemeral, 0, world)
		require.ErrorIs(b, err, zkconn.ErrNoReply)
		require.Less(b, time.Since(began), 10*time.Second)
	})
}

// A request that is called off while it waits for the connection is not sent, and stands in
// nobody's way.
func TestARequestThatIsCalledOff(t *testing.T) {
	inBubble(t, func(b *bench) {
		v := b.connected()
		var over atomic.Bool
		check := []jute.Request{{Op: jute.OpCheck, Path: "/a", Version: -1}}
		stands := func() bool { return !over.Load() }
		_, err := b.MultiWhile(stands, check)
		require.NoError(b, err)

		b.script(func() {
			b.answer = func(_ *visit, q jute.Request) (jute.Reply, bool) {
				time.Sleep(time.Second)
				return success(q), true
			}
		})
		ahead, off := make(chan error, 1), make(chan error, 1)
		go func() { _, _, err := b.Alone().Exists("/a", false); ahead <- err }()
		synctest.Wait()
		go func() { _, err := b.MultiWhile(stands, check); off <- err }()
		synctest.Wait()
		over.Store(true)
		require.NoError(b, <-ahead)
		require.ErrorIs(b, got(b, off), zkconn.ErrCalledOff)
		require.NoError(b, b.Sync("/"))
		require.Equal(b, []jute.Op{jute.OpMulti, jute.OpExists, jute.OpSync}, v.ops())
	})
}
