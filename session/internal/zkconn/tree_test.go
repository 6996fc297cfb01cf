// Watches of trees beside others of the session. Helpers: helper_test.go.

package zkconn_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/test/bubble"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// Before ZooKeeper 3.9 a watch that fires once would end the tree's.
func TestNoOtherWatchIsSetAtTheRootOfATree(t *testing.T) {
	inBubble(t, func(b *bench) {
		v := b.connected()
		require.NoError(b, zkconn.Follow(b.Conn, "/a/b", 0, nil, func() {}))
		before := len(b.sink.all())
		watches := map[zkconn.Watch]bool{{Path: "/a"}: false, {Path: "/a/b"}: false, {Path: "/a/b", Children: true}: false}
		require.NoError(b, zkconn.Follow(b.Conn, "/a", 7, watches, func() {}))
		data, birth, brood, zxids := rearmed(v)
		require.Equal(b, []string{"/a"}, data)
		require.Empty(b, birth)
		require.Empty(b, brood)
		require.Equal(b, []int64{7}, zxids)
		require.Equal(b, []zkconn.Event{
			zkconn.Fired{Type: jute.NodeDataChanged, Path: "/a/b"}, zkconn.Fired{Type: jute.NodeChildrenChanged, Path: "/a/b"},
		}, b.sink.all()[before:before+2], "all may have changed there")
	})
}

func TestATreeThatComesWhileAnotherAsksWhatHasChanged(t *testing.T) {
	inBubble(t, func(b *bench) {
		v := b.connected()
		b.answers(answersNothing)
		watches := map[zkconn.Watch]bool{{Path: "/a/b"}: false}
		for i := range 2000 {
			watches[zkconn.Watch{Path: fmt.Sprintf("/a/%0100d", i)}] = false
		}
		outer := bubble.Begin(func() error { return zkconn.Follow(b.Conn, "/a", 7, watches, func() {}) })
		synctest.Wait()
		inner := bubble.Begin(func() error { return zkconn.Follow(b.Conn, "/a/b", 0, nil, func() {}) })
		synctest.Wait()
		removed := bubble.Begin(func() error { return b.Unwatch([]zkconn.Watch{{Path: "/c"}}) })
		synctest.Wait()
		require.Equal(b, []jute.Op{jute.OpSetWatches, jute.OpAddWatch, jute.OpCheckWatches}, v.ops(), "nothing is removed meanwhile")
		for i := range 3 {
			v.answer(i)
		}
		require.Equal(b, zkconn.ErrCalledOff, bubble.Now(b, outer))
		require.NoError(b, bubble.Now(b, inner))
		require.NoError(b, bubble.Now(b, removed))
	})
}

// Two trees with one root share the watch, which the first has set.
func TestASecondWatchThatIsRefusedLeavesTheFirst(t *testing.T) {
	inBubble(t, func(b *bench) {
		v := b.connected()
		require.NoError(b, zkconn.Follow(b.Conn, "/a", 0, nil, func() {}))
		b.answers(answersNothing)
		second := bubble.Begin(func() error { return zkconn.Follow(b.Conn, "/a", 0, nil, func() {}) })
		synctest.Wait()
		v.reply(v.asked()[1], jute.Reply{Err: jute.ThrottledOp})
		require.ErrorIs(b, bubble.Now(b, second), zkconn.ErrThrottled)
		bubble.Begin(func() error { _, _, err := b.Get("/a", true); return err })
		synctest.Wait()
		require.False(b, v.asked()[2].Watch)
	})
}

// While it is not known whether servers have the watch, reads at its root go without one.
func TestATreesWatchThatIsRefused(t *testing.T) {
	inBubble(t, func(b *bench) {
		v := b.connected()
		b.answers(answersNothing)
		followed := bubble.Begin(func() error { return zkconn.Follow(b.Conn, "/a", 0, nil, func() { b.Error("told") }) })
		synctest.Wait()
		read := func() <-chan error {
			return bubble.Begin(func() error { _, _, err := b.Get("/a", true); return err })
		}
		first := read()
		synctest.Wait()
		before := len(b.sink.all())
		v.reply(v.asked()[0], jute.Reply{Err: jute.Unimplemented})
		require.ErrorIs(b, bubble.Now(b, followed), zkconn.ErrUnsupported)
		require.Equal(b, []zkconn.Event{
			zkconn.Fired{Type: jute.NodeDataChanged, Path: "/a"}, zkconn.Fired{Type: jute.NodeChildrenChanged, Path: "/a"},
		}, b.sink.all()[before:before+2], "so that who has read reads again")
		second := read()
		synctest.Wait()
		require.False(b, v.asked()[1].Watch)
		require.True(b, v.asked()[2].Watch)
		v.answer(1)
		v.answer(2)
		require.NoError(b, bubble.Now(b, first))
		require.NoError(b, bubble.Now(b, second))
		zkconn.Unfollow(b.Conn, "/a", func() bool { return false }) // which would end others' watches
		require.Len(b, v.asked(), 3)
	})
}
