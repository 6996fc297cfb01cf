package zktest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/zktest"
)

// A session that has moved to another server can't write through its old connection any more, but
// the old server only learns of it then.
func TestASessionThatHasMoved(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *zktest.Server) {
		old := client(t, s, 10*time.Second, 0)
		moved, err := resume(s, old, 1)
		require.NoError(t, err)
		require.Equal(t, old.session, moved.session)
		info, _ := s.Session(old.session)
		require.Equal(t, 1, info.Front)
		require.True(t, old.exists(t, "/"), "reads are answered by the server itself")
		_, err = old.do(create("/late", 0))
		require.Error(t, err, "the connection is closed")
		require.False(t, moved.exists(t, "/late"))
		moved.must(t, create("/a", jute.FlagEphemeral))
	}, zktest.WithServers(2))
}

// Sessions don't mind which server they talk to.
func TestClientsOfSeveralServersSeeOneTree(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *zktest.Server) {
		a, b := client(t, s, 10*time.Second, 0), client(t, s, 10*time.Second, 2)
		b.watch(t, jute.OpExists, "/a")
		p := a.must(t, create("/a", jute.FlagEphemeral))
		require.Equal(t, []jute.Event{event(jute.NodeCreated, "/a")}, b.arrived(t))
		got := b.must(t, jute.Request{Op: jute.OpExists, Path: "/a"})
		require.Equal(t, p.Zxid, got.Stat.Czxid)
		require.Equal(t, a.session, got.Stat.EphemeralOwner)
		a.must(t, jute.Request{Op: jute.OpCloseSession})
		require.False(t, b.exists(t, "/a"))
	}, zktest.WithServers(3))
}

// What the server does while a partition lasts is not seen across it.
func TestAPartitionHidesThatAServerDied(t *testing.T) {
	t.Parallel()
	for name, kill := range map[string]func(s *zktest.Server, id int64){
		"killed":       func(s *zktest.Server, _ int64) { s.Kill(0) },
		"disconnected": func(s *zktest.Server, id int64) { s.Disconnect(id) },
		"expired":      func(s *zktest.Server, id int64) { s.Expire(id) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, s *zktest.Server) {
				c := client(t, s, 10*time.Second)
				heal := s.Partition(c.session)
				kill(s, c.session)
				c.silent(t, time.Minute)
				heal()
				c.conn.SetDeadline(time.Time{})
				_, err := c.frame()
				require.Error(t, err)
			})
		})
	}
}
