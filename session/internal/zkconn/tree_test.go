package zkconn_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// A watch on a tree stays when it fires, and is not armed again on the next connection.
func TestAWatchOnATree(t *testing.T) {
	inBubble(t, func(b *bench) {
		v := b.connected()
		require.NoError(b, b.WatchTree("/tree"))
		require.Equal(b, jute.Request{Xid: 1, Op: jute.OpAddWatch, Path: "/tree", Flags: 1}, v.asked()[0])
		v.fire(jute.NodeCreated, "/tree/a")
		v.fire(jute.NodeDataChanged, "/tree/a")
		require.NoError(b, b.Sync("/"))
		fired, _ := told[zkconn.Fired](b.sink)
		require.Equal(b, []zkconn.Fired{{Type: jute.NodeCreated, Path: "/tree/a"}, {Type: jute.NodeDataChanged, Path: "/tree/a"}}, fired)
		_, _, err := b.Get("/tree", true)
		require.NoError(b, err)
		_, _, err = b.Children("/tree", true)
		require.NoError(b, err)
		b.UnwatchTree("/tree")
		require.Equal(b, map[string]int32{"/tree": 3}, removals(v))
		require.False(b, b.Watches(zkconn.Watch{Path: "/tree"}), "those of reads are removed, too")
		require.False(b, b.Watches(zkconn.Watch{Path: "/tree", Children: true}))
		require.NoError(b, b.WatchTree("/tree"))
		v.hangUp()
		time.Sleep(time.Minute)
		require.Empty(b, b.visit(1).asked())
		require.ErrorIs(b, b.WatchTree("tree"), zkconn.ErrInvalidPath)
	})
}

func TestServersThatLackAddWatch(t *testing.T) {
	inBubble(t, func(b *bench) {
		v := b.connected()
		for range 2 {
			require.ErrorIs(b, b.WatchTree("/tree"), zkconn.ErrUnsupported)
			require.Len(b, v.asked(), 1, "asked once")
		}
	}, func(f *fake, _ *zkconn.Config) {
		f.answer = func(*visit, jute.Request) (jute.Reply, bool) { return failure(jute.Unimplemented), true }
	})
}
