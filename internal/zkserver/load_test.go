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

const planted = `/:
    data: root
/app:
    data: hello
/app/bin:
    base64: AP8=
/app/cache:
    kind: ttl
    ttl: 5m0s
/app/empty:
    data: ""
/app/jobs:
    sequence: 2147483647
/app/locks:
    kind: container
    sequence: 1
/app/null: {}
/app/safe:
    data: "1"
    acl:
        - perms: cdrwa
          scheme: digest
          id: bob:x
/app/safe/below: {}
/zookeeper/quota/app: {}
`

func written(t *testing.T, s *zkserver.Server, name string) string {
	t.Helper()
	text, err := s.WriteTree(name)
	require.NoError(t, err)
	return string(text)
}

// What was loaded is written again to the letter, and what was written is loaded again, in both
// forms.
func TestATreeGoesRound(t *testing.T) {
	t.Parallel()
	s := start(t, zkserver.Config{Tree: strings.NewReader(planted)})
	require.Equal(t, planted, written(t, s, "tree.yaml"))
	again := start(t, zkserver.Config{Tree: strings.NewReader(written(t, s, "tree.json"))})
	require.Equal(t, planted, written(t, again, "tree.yml"))
	require.Empty(t, start(t, zkserver.Config{}).Znodes())
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
		require.Equal(t, `/full: {}
/full/a: {}
/line:
    sequence: 2
/line/n-0000000001: {}
`, written(t, s, ".yaml"))
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
		require.NoError(t, s.Load([]byte("/app: {data: other}\n/deep/down: {}")))
		require.Contains(t, written(t, s, ".yaml"), "/app:\n    data: other\n")
		require.Contains(t, written(t, s, ".yaml"), "/deep: {}\n/deep/down: {}\n")
		require.Contains(t, s.Dump(), "zxid 0x3,", "one transaction each")
		synctest.Wait()
		require.Contains(t, ask(t, s, "mntr"), "zk_watch_count\t0\n", "the watch has fired")

		// An empty container that had a child, and a TTL znode whose time is over, go.
		time.Sleep(7 * time.Minute)
		require.NotContains(t, written(t, s, ".yaml"), "/app/cache")
		require.NotContains(t, written(t, s, ".yaml"), "/app/locks")
	})
}

func TestABadTreeChangesNothing(t *testing.T) {
	t.Parallel()
	for text, part := range map[string]string{
		"/good: {}\nbad: {}":                    `"bad": a path begins with a slash`,
		"/good: {}\n/a//b: {}":                  `"/a//b": zookeeper: bad arguments`,
		"/good: {}\n/x/: {}":                    `"/x/": zookeeper: bad arguments`,
		"/good: {acl: [{scheme: other}]}":       `"/good": zookeeper: invalid acl`,
		"/good: {kind: ttl, ttl: 999999h}":      `"/good": zookeeper: bad arguments`,
		"/: {kind: container}":                  `"/": it exists`,
		"/good: {}\n/: {acl: [{scheme: auth}]}": `"/": zookeeper: invalid acl`,
	} {
		_, err := zkserver.New(zkserver.Config{Tree: strings.NewReader(text)})
		require.ErrorContains(t, err, part)
		s := start(t, zkserver.Config{})
		require.ErrorContains(t, s.Load([]byte(text)), part)
		require.Empty(t, s.Znodes())
	}
	s := start(t, zkserver.Config{NoTTL: true})
	require.ErrorIs(t, s.Load([]byte("/a: {kind: ttl, ttl: 1s}")), jute.Unimplemented)
}
