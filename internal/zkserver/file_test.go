package zkserver_test

// Trees as text: what is written is read again, what clients made is in it, and a bad text changes
// nothing.

import (
	"fmt"
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

// A tree that was loaded is written again to the letter, and lives: watches fire, an empty
// container that had a child and a TTL znode whose time is over go, sequences go on, ACLs hold.
func TestALoadedTreeIsWrittenAgainAndLives(t *testing.T) {
	inBubble(t, zkserver.Config{}, func(t *testing.T, s *zkserver.Server) {
		require.Empty(t, written(t, s))
		c := join(t, s)
		c.do(readAndWatch(jute.OpExists, "/app/cache"))
		require.NoError(t, s.Load(strings.NewReader(planted)))
		require.Equal(t, strings.Fields(planted), written(t, s))
		require.Equal(t, strings.Fields(planted), written(t, start(t, zkserver.Config{Tree: strings.NewReader(planted)})))
		require.Equal(t, []string{"NodeCreated /app/cache"}, c.told())
		require.Equal(t, "/app/jobs/2147483647", c.create("/app/jobs/", jute.FlagSequential).Path)
		require.Equal(t, jute.NoAuth, c.do(set("/app/safe", "x")).Err)

		require.NoError(t, s.Load(strings.NewReader(`{"path":"/app","data":"other"}{"path":"/deep/down"}`)))
		require.Contains(t, s.Dump(), "zxid 0x5,", "one transaction each: the session, two loads, and what the client asked for")
		require.Subset(t, written(t, s), []string{`{"path":"/app","data":"other"}`, `{"path":"/deep"}`, `{"path":"/deep/down"}`})
		time.Sleep(7 * time.Minute)
		require.NotContains(t, s.Dump(), "/app/cache")
		require.NotContains(t, s.Dump(), "/app/locks")
	})
}

// Znodes of clients are written: all but ephemerals, with the counters that say more than the
// number of children.
func TestWhatClientsMadeIsWritten(t *testing.T) {
	inBubble(t, zkserver.Config{}, func(t *testing.T, s *zkserver.Server) {
		c := join(t, s)
		acl := jute.OpenACL()
		for _, q := range []jute.Request{
			create("/line", 0), create("/line/n-", jute.FlagEphemeralSequential), create("/line/n-", jute.FlagSequential), remove("/line/n-0000000001"), set("/line", "é"),
			{Op: jute.OpSetACL, Path: "/line", ACL: append(acl, jute.ACL{Perms: 1, Scheme: "digest", ID: "a:b"}), Version: -1},
			as(jute.OpCreateContainer, create("/box", jute.FlagContainer)), create("/full", 0), create("/full/a", 0),
		} {
			c.must(q)
		}
		require.Subset(t, written(t, s), []string{`{"path":"/full","data":"data"}`, `{"path":"/full/a","data":"data"}`})
		tree := strings.Join(written(t, s), "\n")
		require.Contains(t, tree, `{"path":"/line","data":"é","sequence":2,"acl":[`)
		require.NotContains(t, tree, "/line/n-")
	})
}

func TestALargeTreeGoesRound(t *testing.T) {
	t.Parallel()
	const znodes = 2_505
	var large strings.Builder // ten znodes to a parent that the file doesn't name
	for i := range znodes {
		fmt.Fprintf(&large, "{\"path\":\"/p%06d/c%06d\",\"data\":\"%0100d\"}\n", i/10, i, i)
	}
	s := start(t, zkserver.Config{Tree: strings.NewReader(large.String())})
	want := s.Dump()
	require.Equal(t, znodes+251+4, strings.Count(want, "\n")-1) // with the parents, what every tree has, and a head
	text, err := s.Tree()
	require.NoError(t, err)
	_, have, _ := strings.Cut(start(t, zkserver.Config{Tree: strings.NewReader(text)}).Dump(), ",")
	require.True(t, strings.HasSuffix(want, have))
	require.NoError(t, s.Load(strings.NewReader(`{"path":"/p000000/new"}`)))
	require.Contains(t, s.Dump(), "/p000000 \"\" czxid=0x1 mzxid=0x1 pzxid=0x2 version=0 cversion=11 aversion=0\n")
}

// Lines may come in any order; what came before its parent is below it.
func TestLinesMayComeInAnyOrder(t *testing.T) {
	t.Parallel()
	s := start(t, zkserver.Config{Tree: strings.NewReader(`
{"data":"below","path":"/a/b/c"}
{"path":"/a/b","kind":"container"}
{"path":"/a","sequence":7}`)})
	require.Equal(t, []string{
		`{"path":"/a","sequence":7}`, `{"path":"/a/b","kind":"container"}`, `{"path":"/a/b/c","data":"below"}`,
	}, written(t, s))
}

func TestABadTreeIsRefusedAndChangesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for text, part := range map[string]string{
			`{"path":"/good"}{"path":"bad"}`:                                    `"bad": a path begins with a slash`,
			`{"path":"/good"}{"path":"/a//b"}`:                                  `"/a//b": zookeeper: bad arguments`,
			`{"path":"/good"}{"path":"/x/"}`:                                    `"/x/": zookeeper: bad arguments`,
			`{"path":"/good","acl":[{"scheme":"other"}]}`:                       `"/good": zookeeper: invalid acl`,
			`{"path":"/good"}{"path":"/","kind":"container"}`:                   `"/": it exists`,
			`{"path":"/good"}{"path":"/zookeeper","kind":"container"}`:          `"/zookeeper": it exists`,
			`{"path":"/good"}{"path":"/","acl":[{"perms":"","scheme":"auth"}]}`: `"/": zookeeper: invalid acl`,
			`{"path":"/a","kind":"ttl","ttl":"1s"}`:                             `"/a": zookeeper: unimplemented`,
			`{"path":"/a","extra":1}`:                                           `unknown field "extra"`,
		} {
			_, err := zkserver.New(zkserver.Config{NoTTL: true, Tree: strings.NewReader(text)})
			require.ErrorContains(t, err, part, text)
			s := start(t, zkserver.Config{NoTTL: true})
			require.ErrorContains(t, s.Load(strings.NewReader(text)), part)
			require.Empty(t, written(t, s))
		}
	})
}
