package zktest_test

// The tree without a client: kinds of znodes, what is known of them, who watches, and what is shown
// of it when a test fails.

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/zktest"
)

func TestZnodesOfEachKind(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		z := s.Znodes(t)
		require.NoError(t, z.Create("/container", nil, zktest.Container()))
		require.NoError(t, z.Create("/cache/ttl", []byte("x"), zktest.TTL(5*time.Minute)))
		require.NoError(t, z.Create("/mine", nil, zktest.WithACL("cdrwa", "digest", zk.DigestACL(zk.PermAll, "bob", "secret")[0].ID), zktest.WithACL("r", "world", "anyone")))
		tree, err := s.Tree()
		require.NoError(t, err)
		require.Equal(t, `{"path":"/cache"}
{"path":"/cache/ttl","data":"x","kind":"ttl","ttl":"5m0s"}
{"path":"/container","kind":"container"}
{"path":"/mine","acl":[{"perms":"cdrwa","scheme":"digest","id":"`+zk.DigestACL(zk.PermAll, "bob", "secret")[0].ID+`"},{"perms":"r","scheme":"world","id":"anyone"}]}
`, tree)
		time.Sleep(7 * time.Minute)
		z.CheckAbsent("/cache/ttl")

		c := client(t, s, 40*time.Second)
		p, err := c.do(create("/mine/x", 0))
		require.NoError(t, err)
		require.Equal(t, jute.NoAuth, p.Err)
		path, err := s.Join().CreateSequential("/mine/", nil)
		require.NoError(t, err)
		require.Equal(t, "/mine/0000000000", path, "the number may be the whole name, and ACLs do not matter here")
		_, err = s.Join().CreateSequential("c-", nil)
		require.ErrorIs(t, err, zktest.ErrBadArguments)
		require.ErrorContains(t, z.Create("/x", nil, zktest.TTL(0)), `create "/x": TTL: 0s`)
		require.ErrorContains(t, z.Create("/x", nil, zktest.WithACL("crx", "world", "anyone")), `create "/x": WithACL: perms "crx"`)
		require.ErrorContains(t, z.Create("/x", nil, zktest.WithACL("r", "word", "anyone")), "invalid acl")
		z.CheckAbsent("/x")
	})
}

func TestAStatIsWhatClientsSee(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		z, c := s.Znodes(t), client(t, s, 10*time.Second)
		require.False(t, z.Exists("/mine"))
		_, err := z.Stat("/mine")
		require.ErrorIs(t, err, zktest.ErrNoNode)
		c.must(t, create("/mine", jute.FlagEphemeral))
		require.True(t, z.Exists("/mine"))
		stat, err := z.Stat("/mine")
		require.NoError(t, err)
		require.Equal(t, c.session, stat.EphemeralOwner)
		require.Equal(t, zktest.Stat(c.must(t, jute.Request{Op: jute.OpExists, Path: "/mine"}).Stat), stat)
	})
}

func TestWhoWatchesWhat(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		z := s.Znodes(t)
		require.NoError(t, z.Create("/a/b", nil))
		c, d := client(t, s, 10*time.Second, 0), client(t, s, 10*time.Second, 1)
		require.Empty(t, z.Watches())
		c.must(t, jute.Request{Op: jute.OpGetData, Path: "/a", Watch: true})
		c.must(t, jute.Request{Op: jute.OpGetChildren, Path: "/a", Watch: true})
		d.must(t, jute.Request{Op: jute.OpGetChildren, Path: "/a", Watch: true})
		d.must(t, jute.Request{Op: jute.OpAddWatch, Path: "/a/b", Flags: 0})
		d.must(t, jute.Request{Op: jute.OpAddWatch, Path: "/a/none", Flags: 1})
		require.Equal(t, []zktest.Watch{
			{Path: "/a", SessionID: c.session, Data: true, Children: true},
			{Path: "/a", SessionID: d.session, Children: true},
			{Path: "/a/b", SessionID: d.session, Data: true, Children: true, Persistent: true},
			{Path: "/a/none", SessionID: d.session, Data: true, Persistent: true, Recursive: true},
		}, z.Watches())
		require.Contains(t, s.Dump(), fmt.Sprintf("watch /a session=0x%x data=true children=true persistent=false recursive=false\n", c.session))
		require.NoError(t, z.Set("/a", nil))
		require.NoError(t, z.Delete("/a/b"))
		require.Len(t, z.Watches(), 2, "those that stay")
	}, zktest.WithServers(2))
}

func TestRequestsAreCounted(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		z, c := s.Znodes(t), client(t, s, 10*time.Second)
		require.NoError(t, z.Create("/a", nil))
		require.Zero(t, z.Count(zktest.OpCreate), "it is no client's request")
		for range 3 {
			c.must(t, jute.Request{Op: jute.OpGetData, Path: "/a"})
		}
		require.Equal(t, 3, z.Count(zktest.OpGetData))
		require.Equal(t, 1, z.Count(zktest.OpConnect))
		s.ClearJournal()
		require.Zero(t, z.Count(zktest.OpGetData))
	})
}

// failing is a test that has failed, and has a log.
type failing struct {
	recorder
	name, log string
}

func (f *failing) Name() string                    { return f.name }
func (*failing) Failed() bool                      { return true }
func (f *failing) Logf(format string, args ...any) { f.log += fmt.Sprintf(format, args...) }

func TestTheStateIsShownOnceByEachTestThatHasFailed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, one, two := &failing{name: "f"}, &failing{name: "f/one"}, &failing{name: "f/two"}
		f.run(func() {
			s := zktest.Start(f)
			for _, sub := range []*failing{one, two} {
				sub.run(func() {
					require.NoError(t, s.Znodes(sub).Create("/there/"+sub.name[2:], nil))
					require.True(t, s.Znodes(sub).Exists("/there"))
				})
			}
		})
		require.Equal(t, 1, strings.Count(one.log, "ZKTEST_SEED="))
		require.Contains(t, one.log, "/there/one \"\" czxid=")
		require.NotContains(t, one.log, "/there/two")
		require.Equal(t, 1, strings.Count(two.log, "/there/two \"\" czxid="))
		require.Equal(t, 1, strings.Count(f.log, "/there/two \"\" czxid="))
	})
}

// A large tree drowns neither the log nor the message of a wait; sessions are in front of it.
func TestALargeStateIsCutOff(t *testing.T) {
	bubble(t, func(t *testing.T, s *zktest.Server) {
		s.Join()
		require.NoError(t, s.Znodes(t).Create("/large", make([]byte, 100_000)))
		f := &failing{}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		f.run(func() { s.Znodes(f).Await(ctx, "/jobs") })
		for _, text := range []string{f.failed, f.log} {
			require.Less(t, len(text), 33_500)
			require.Contains(t, text, "session 0x")
			require.Contains(t, text, "/large \"\\x00")
			require.Regexp(t, `…\nand 36\d{4} bytes more$`, text)
		}
	})
}
