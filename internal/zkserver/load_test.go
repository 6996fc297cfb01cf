package zkserver_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/zkserver"
)

const planted = `{"path":"/","data":"root"}
{"path":"/app","data":"hello"}
{"path":"/app/bin","base64":"AP8="}
{"path":"/app/cache","kind":"ttl","ttl":"5m0s"}
{"path":"/app/empty","data":""}
{"path":"/app/jobs","sequence":2147483647}
{"path":"/app/locks","kind":"container","sequence":1}
{"path":"/app/null"}
{"path":"/app/safe","data":"1","acl":[{"perms":"cdrwa","scheme":"digest","id":"bob:x"}]}
{"path":"/app/safe/below"}
{"path":"/zookeeper/quota/app"}
`

// written are the lines of a tree without blanks.
func written(t *testing.T, s *zkserver.Server) []string {
	t.Helper()
	text, err := s.Tree()
	require.NoError(t, err)
	return strings.Fields(text)
}

// What was loaded is written again to the letter.
func TestATreeGoesRound(t *testing.T) {
	t.Parallel()
	s := start(t, zkserver.Config{Tree: strings.NewReader(planted)})
	require.Equal(t, strings.Fields(planted), written(t, s))
	again := start(t, zkserver.Config{})
	require.Empty(t, written(t, again))
	require.NoError(t, again.Load([]byte(planted)))
	require.Equal(t, strings.Fields(planted), written(t, again))
}

// What clients made is written too, but for ephemerals; counters that say more than the number of
// children are.
func TestATreeThatClientsMade(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := start(t, zkserver.Config{})
		conn := dial(t, s)
		sent := hello()
		for i, q := range []jute.Request{
			{Op: jute.OpCreate, Path: "/line", ACL: jute.OpenACL()},
			{Op: jute.OpCreate, Path: "/line/n-", ACL: jute.OpenACL(), Flags: jute.FlagEphemeralSequential},
			{Op: jute.OpCreate, Path: "/line/n-", ACL: jute.OpenACL(), Flags: jute.FlagSequential},
			{Op: jute.OpCreate, Path: "/full", ACL: jute.OpenACL()},
			{Op: jute.OpCreate, Path: "/full/a", ACL: jute.OpenACL()},
		} {
			q.Xid = int32(i + 1)
			sent = append(sent, request(q)...)
		}
		_, err := conn.Write(sent)
		require.NoError(t, err)
		synctest.Wait()
		require.Equal(t, []string{`{"path":"/full"}`, `{"path":"/full/a"}`, `{"path":"/line","sequence":2}`, `{"path":"/line/n-0000000001"}`}, written(t, s))
	})
}

func TestALoadedTreeLives(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := start(t, zkserver.Config{})
		conn := dial(t, s)
		_, err := conn.Write(append(hello(), request(jute.Request{Xid: 1, Op: jute.OpExists, Path: "/app/cache", Watch: true})...))
		require.NoError(t, err)
		synctest.Wait()
		require.NoError(t, s.Load([]byte(planted)))
		require.NoError(t, s.Load([]byte(`{"path":"/app","data":"other"}{"path":"/deep/down"}`)))
		require.Contains(t, written(t, s), `{"path":"/app","data":"other"}`)
		require.Subset(t, written(t, s), []string{`{"path":"/deep"}`, `{"path":"/deep/down"}`})
		require.Contains(t, s.Dump(), "zxid 0x3,", "one transaction each")
		synctest.Wait()
		require.Contains(t, ask(t, s, "mntr"), "zk_watch_count\t0\n", "the watch has fired")

		// An empty container that had a child, and a TTL znode whose time is over, go.
		time.Sleep(7 * time.Minute)
		require.NotContains(t, s.Dump(), "/app/cache")
		require.NotContains(t, s.Dump(), "/app/locks")
	})
}

func TestABadTreeChangesNothing(t *testing.T) {
	t.Parallel()
	for text, part := range map[string]string{
		`{"path":"/good"}{"path":"bad"}`:                                    `"bad": a path begins with a slash`,
		`{"path":"/good"}{"path":"/a//b"}`:                                  `"/a//b": zookeeper: bad arguments`,
		`{"path":"/good"}{"path":"/x/"}`:                                    `"/x/": zookeeper: bad arguments`,
		`{"path":"/good","acl":[{"scheme":"other"}]}`:                       `"/good": zookeeper: invalid acl`,
		`{"path":"/good"}{"path":"/","kind":"container"}`:                   `"/": it exists`,
		`{"path":"/good"}{"path":"/zookeeper","kind":"container"}`:          `"/zookeeper": it exists`,
		`{"path":"/good"}{"path":"/","acl":[{"perms":"","scheme":"auth"}]}`: `"/": zookeeper: invalid acl`,
	} {
		_, err := zkserver.New(zkserver.Config{Tree: strings.NewReader(text)})
		require.ErrorContains(t, err, part)
		s := start(t, zkserver.Config{})
		require.ErrorContains(t, s.Load([]byte(text)), part)
		require.Empty(t, written(t, s))
	}
	s := start(t, zkserver.Config{NoTTL: true})
	require.ErrorIs(t, s.Load([]byte(`{"path":"/a","kind":"ttl","ttl":"1s"}`)), jute.Unimplemented)
}
