package zktest_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/zktest"
)

// B20: the counter of 3.8 sticks at the end of int32, and Pzxid with it.
func TestB20_SequenceSticksAtItsEnd(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *zktest.Server) {
		c := client(t, s, 10*time.Second)
		c.must(t, create("/p", 0))
		require.NoError(t, s.SetSequence("/p", math.MaxInt32-1))
		require.Equal(t, "/p/a-2147483646", c.must(t, create("/p/a-", jute.FlagSequential)).Path)
		before := c.must(t, jute.Request{Op: jute.OpExists, Path: "/p"}).Stat
		require.Equal(t, "/p/a-2147483647", c.must(t, create("/p/a-", jute.FlagSequential)).Path)
		after := c.must(t, jute.Request{Op: jute.OpExists, Path: "/p"}).Stat
		require.Equal(t, before.Pzxid, after.Pzxid)
		p, err := c.do(create("/p/a-", jute.FlagSequential))
		require.NoError(t, err)
		require.Equal(t, jute.NodeExists, p.Err)
		require.Equal(t, "/p/b-2147483647", c.must(t, create("/p/b-", jute.FlagSequential)).Path)

		require.NoError(t, s.SetSequence("/p", -1))
		require.Equal(t, "/p/a--000000001", c.must(t, create("/p/a-", jute.FlagSequential)).Path)
		require.Error(t, s.SetSequence("/nowhere", 1))
	})
}

func TestZxidsCanBePreset(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *zktest.Server) {
		c := client(t, s, 10*time.Second)
		require.NoError(t, s.SetZxid(0x500000000))
		require.EqualValues(t, 0x500000001, c.must(t, create("/a", 0)).Zxid)
		require.Error(t, s.SetZxid(1))
		p, err := c.do(create("/a", 0))
		require.NoError(t, err)
		require.EqualValues(t, 0x500000002, p.Zxid, "failed writes use up a zxid too")
	})
}

func TestCversionCountsCreationsTwiceAndChildrenOff(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *zktest.Server) {
		c := client(t, s, 10*time.Second)
		c.must(t, create("/p", 0))
		for range 3 {
			c.must(t, create("/p/a-", jute.FlagSequential))
		}
		deleted := c.must(t, jute.Request{Op: jute.OpDelete, Path: "/p/a-0000000000", Version: -1})
		stat := c.must(t, jute.Request{Op: jute.OpExists, Path: "/p"}).Stat
		require.EqualValues(t, 4, stat.Cversion)
		require.EqualValues(t, 2, stat.NumChildren)
		require.Equal(t, deleted.Zxid, stat.Pzxid)
	})
}

func TestPacketsOverTheLimitEndTheConnection(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		size int
		ok   bool
	}{{"at the limit", jute.DefaultMaxPacket, true}, {"over it", jute.DefaultMaxPacket + 1, false}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, s *zktest.Server) {
				one := client(t, s, 10*time.Second)
				q := create("/a", 0)
				q.Xid, q.Data = 1, []byte{}
				w := jute.NewWriter(nil)
				q.Encode(w)
				q.Data = make([]byte, c.size-w.Len())
				_, err := one.do(q)
				require.Equal(t, c.ok, err == nil)
				require.Equal(t, c.ok, client(t, s, 10*time.Second).exists(t, "/a"))
			})
		})
	}
}

func TestTheSuperUserMayDoEverything(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *zktest.Server) {
		c := client(t, s, 10*time.Second)
		q := create("/locked", 0)
		q.ACL = []jute.ACL{{Perms: 0, Scheme: "world", ID: "anyone"}}
		c.must(t, q)
		p, err := c.do(jute.Request{Op: jute.OpGetData, Path: "/locked"})
		require.NoError(t, err)
		require.Equal(t, jute.NoAuth, p.Err)
		c.must(t, jute.Request{Op: jute.OpSetAuth, Xid: jute.XidAuth, Scheme: "digest", Data: []byte("super:root")})
		c.must(t, jute.Request{Op: jute.OpGetData, Path: "/locked"})
	}, zktest.WithSuper("root"))
}

func TestTTLCanBeTurnedOff(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, s *zktest.Server) {
		q := create("/t", jute.FlagPersistentTTL)
		q.Op, q.TTL = jute.OpCreateTTL, 1000
		p, err := client(t, s, 10*time.Second).do(q)
		require.NoError(t, err)
		require.Equal(t, jute.Unimplemented, p.Err)
	}, zktest.WithoutTTL())
}

func TestBadOptionsAreRefused(t *testing.T) {
	t.Parallel()
	for name, opt := range map[string]zktest.Option{
		"a tick of nothing":              zktest.WithTick(time.Nanosecond),
		"timeouts reversed":              zktest.WithSessionTimeouts(time.Minute, time.Second),
		"no room for packets":            zktest.WithMaxPacket(1),
		"no servers":                     zktest.WithServers(-1),
		"too many servers":               zktest.WithServers(1000),
		"a negative journal":             zktest.WithJournal(-1),
		"a journal of less than nothing": zktest.WithJournalBytes(-1),
		"elections of less than no time": zktest.WithElection(-1),
		"less than no connections":       zktest.WithMaxConnections(-1),
		"a version that is not known":    zktest.WithVersion("3.7"),
	} {
		_, err := zktest.New(opt)
		require.Error(t, err, name)
	}
}
