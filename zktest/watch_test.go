package zktest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/zktest"
)

func event(kind jute.EventType, path string) jute.Event {
	return jute.Event{Type: kind, State: jute.StateConnected, Path: path}
}

func (c *raw) watch(t *testing.T, op jute.Op, path string) {
	t.Helper()
	_, err := c.do(jute.Request{Op: op, Path: path, Watch: true})
	require.NoError(t, err)
}

func (c *raw) arrived(t *testing.T) []jute.Event {
	t.Helper()
	events, err := c.drain()
	require.NoError(t, err)
	return events
}

func TestWatchesFireOnceInOrderAndBeforeTheReply(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *zktest.Server) {
		c := client(t, s, 10*time.Second)
		c.watch(t, jute.OpExists, "/a")
		c.watch(t, jute.OpGetChildren, "/")
		c.must(t, create("/a", 0))
		// do keeps what came before the reply.
		require.Equal(t, []jute.Event{event(jute.NodeCreated, "/a"), event(jute.NodeChildrenChanged, "/")}, c.events)
		c.events = nil

		c.watch(t, jute.OpGetData, "/a")
		c.watch(t, jute.OpExists, "/a") // the same watch
		c.must(t, jute.Request{Op: jute.OpSetData, Path: "/a", Version: -1})
		c.must(t, jute.Request{Op: jute.OpSetData, Path: "/a", Version: -1})
		require.Equal(t, []jute.Event{event(jute.NodeDataChanged, "/a")}, c.arrived(t))

		c.watch(t, jute.OpGetData, "/a")
		c.watch(t, jute.OpGetChildren, "/a")
		c.watch(t, jute.OpGetChildren, "/")
		c.must(t, jute.Request{Op: jute.OpDelete, Path: "/a", Version: -1})
		require.Equal(t, []jute.Event{event(jute.NodeDeleted, "/a"), event(jute.NodeChildrenChanged, "/")}, c.arrived(t), "told once")
	})
}

func TestAReadThatFailsLeavesNoWatchButExists(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *zktest.Server) {
		c := client(t, s, 10*time.Second)
		c.watch(t, jute.OpGetData, "/a")
		c.watch(t, jute.OpGetChildren2, "/a")
		c.must(t, create("/a", 0))
		require.Empty(t, c.arrived(t))
		c.watch(t, jute.OpExists, "/b")
		c.must(t, create("/b", 0))
		require.Equal(t, []jute.Event{event(jute.NodeCreated, "/b")}, c.arrived(t))
	})
}

func TestWatchesGoWithTheConnection(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *zktest.Server) {
		c, other := client(t, s, 10*time.Second), client(t, s, 10*time.Second)
		c.watch(t, jute.OpExists, "/a")
		again, err := resume(s, c, 0)
		require.NoError(t, err)
		other.must(t, create("/a", 0))
		require.Empty(t, again.arrived(t))
	})
}

// B68: what happened while a client was away is told when it sets its watches again.
func TestB68_SetWatchesTellsWhatWasMissed(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *zktest.Server) {
		c, other := client(t, s, 30*time.Second), client(t, s, 30*time.Second)
		for _, path := range []string{"/changed", "/gone", "/same", "/parent", "/childless"} {
			c.must(t, create(path, 0))
		}
		c.conn.Close()
		other.must(t, jute.Request{Op: jute.OpSetData, Path: "/changed", Version: -1})
		other.must(t, jute.Request{Op: jute.OpDelete, Path: "/gone", Version: -1})
		other.must(t, create("/made", 0))
		other.must(t, create("/parent/child", 0))

		again, err := resume(s, c, 0)
		require.NoError(t, err)
		again.must(t, jute.Request{
			Op: jute.OpSetWatches, Xid: jute.XidSetWatches, Zxid: c.seen,
			DataW: []string{"/changed", "/gone", "/same"}, ExistW: []string{"/made", "/never"}, ChildW: []string{"/parent", "/childless", "/gone"},
		})
		require.Equal(t, []jute.Event{
			event(jute.NodeDataChanged, "/changed"), event(jute.NodeDeleted, "/gone"), event(jute.NodeCreated, "/made"),
			event(jute.NodeChildrenChanged, "/parent"), event(jute.NodeDeleted, "/gone"),
		}, again.arrived(t))
		other.must(t, jute.Request{Op: jute.OpSetData, Path: "/same", Version: -1})
		other.must(t, create("/never", 0))
		other.must(t, create("/childless/child", 0))
		require.Equal(t, []jute.Event{
			event(jute.NodeDataChanged, "/same"), event(jute.NodeCreated, "/never"), event(jute.NodeChildrenChanged, "/childless"),
		}, again.arrived(t))
	})
}

// B69: a znode deleted and made again while the client was away has the same version, and is told
// as changed all the same.
func TestB69_RecreatedIsChanged(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *zktest.Server) {
		c, other := client(t, s, 30*time.Second), client(t, s, 30*time.Second)
		before := c.must(t, create("/a", 0))
		c.conn.Close()
		other.must(t, jute.Request{Op: jute.OpDelete, Path: "/a", Version: 0})
		other.must(t, create("/a", 0))
		again, err := resume(s, c, 0)
		require.NoError(t, err)
		stat := again.must(t, jute.Request{Op: jute.OpExists, Path: "/a"}).Stat
		require.Zero(t, stat.Version)
		require.Greater(t, stat.Czxid, before.Zxid)
		again.must(t, jute.Request{Op: jute.OpSetWatches, Xid: jute.XidSetWatches, Zxid: before.Zxid, DataW: []string{"/a"}, ExistW: []string{}, ChildW: []string{}})
		require.Equal(t, []jute.Event{event(jute.NodeDataChanged, "/a")}, again.arrived(t))
	})
}

func TestEventsAreKeptFromThoseWhoMayNotRead(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *zktest.Server) {
		owner, stranger := client(t, s, 10*time.Second), client(t, s, 10*time.Second)
		owner.must(t, jute.Request{Op: jute.OpSetAuth, Xid: jute.XidAuth, Scheme: "digest", Data: []byte("u:p")})
		owner.watch(t, jute.OpExists, "/secret")
		stranger.watch(t, jute.OpExists, "/secret")
		q := create("/secret", 0)
		q.ACL = []jute.ACL{{Perms: jute.PermAll, Scheme: "auth"}}
		owner.must(t, q)
		require.Len(t, owner.arrived(t), 1)
		require.Empty(t, stranger.arrived(t))
	})
}
