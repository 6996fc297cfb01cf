package zkserver_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/zkserver"
)

// addWatch's modes.
const (
	persistent = 0
	recursive  = 1
)

func watch(path string, mode int32) jute.Request {
	return jute.Request{Op: jute.OpAddWatch, Path: path, Flags: mode}
}

func TestPersistentWatchesStay(t *testing.T) {
	world(t, zkserver.Config{}, func(t *testing.T, s *zkserver.Server) {
		c := join(t, s)
		c.must(watch("/a", persistent))
		c.create("/a", 0)
		c.create("/a/b", 0)
		c.must(set("/a/b", "not told"))
		c.must(set("/a", "told"))
		c.must(set("/a", "told again"))
		require.Equal(t, []string{"NodeCreated /a", "NodeChildrenChanged /a", "NodeDataChanged /a", "NodeDataChanged /a"}, c.told())
	})
}

func TestRecursiveWatchesHearOfWhatIsBelow(t *testing.T) {
	world(t, zkserver.Config{}, func(t *testing.T, s *zkserver.Server) {
		c := join(t, s)
		c.must(watch("/a", recursive))
		c.create("/a", 0)
		c.create("/a/b", 0)
		c.create("/ab", 0)
		c.must(set("/a/b", "told"))
		c.must(remove("/a/b"))
		require.Equal(t, []string{"NodeCreated /a", "NodeCreated /a/b", "NodeDataChanged /a/b", "NodeDeleted /a/b"}, c.told(), "of changes, not of changed children")
		require.Equal(t, jute.MarshallingError, c.do(watch("/a", 2)).Err)
	})
}

// A watch can be looked for and taken back by its kind: 1 of children, 2 of data, 3 of any.
func TestWatchesAreCheckedAndRemoved(t *testing.T) {
	world(t, zkserver.Config{Version: "3.8.0"}, func(t *testing.T, s *zkserver.Server) {
		c, other := join(t, s), join(t, s)
		c.create("/a", 0)
		check := func(c *client, kind int32) jute.Code {
			return c.do(jute.Request{Op: jute.OpCheckWatches, Path: "/a", Kind: kind}).Err
		}
		take := func(c *client, kind int32) jute.Code {
			return c.do(jute.Request{Op: jute.OpRemoveWatches, Path: "/a", Kind: kind}).Err
		}
		require.Equal(t, jute.NoWatcher, check(c, 3))
		c.must(jute.Request{Op: jute.OpGetData, Path: "/a", Watch: true})
		require.Equal(t, []jute.Code{jute.NoWatcher, jute.OK, jute.OK, jute.MarshallingError}, []jute.Code{check(c, 1), check(c, 2), check(c, 3), check(c, 4)})
		require.Equal(t, jute.OK, check(other, 2), "whoever's it is: so does 3.8")
		require.Equal(t, jute.NoWatcher, take(other, 3), "but only one's own can be taken back")
		require.Equal(t, jute.NoWatcher, take(c, 1))
		require.Equal(t, jute.OK, take(c, 3))
		require.Equal(t, jute.NoWatcher, take(c, 3))
		c.must(set("/a", "x"))
		require.Empty(t, c.told())
	})
}
