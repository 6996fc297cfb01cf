package zkserver_test

import (
	"bytes"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/zkserver"
)

func saved(t testing.TB, s *zkserver.Server) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, s.Save(&b))
	return b.String()
}

// history is what a server goes through so that there is something of every kind.
func history(t *testing.T, s *zkserver.Server) {
	t.Helper()
	conn := ready(t, s)
	for i, q := range []jute.Request{
		{Op: jute.OpCreate, Path: "/line", ACL: jute.OpenACL()},
		{Op: jute.OpCreate, Path: "/line/n-", ACL: jute.OpenACL(), Flags: jute.FlagEphemeralSequential},
		{Op: jute.OpCreate, Path: "/line/n-", Data: []byte{0xff}, ACL: jute.OpenACL(), Flags: jute.FlagSequential},
		{Op: jute.OpDelete, Path: "/line/n-0000000001", Version: -1},
		{Op: jute.OpSetData, Path: "/line", Data: []byte("é"), Version: -1},
		{Op: jute.OpSetACL, Path: "/line", ACL: []jute.ACL{{Perms: 31, Scheme: "world", ID: "anyone"}, {Perms: 1, Scheme: "digest", ID: "a:b"}}, Version: -1},
		{Op: jute.OpCreateContainer, Path: "/box", ACL: jute.OpenACL(), Flags: jute.FlagContainer},
		{Op: jute.OpCreateTTL, Path: "/ttl", Data: []byte{}, ACL: jute.OpenACL(), Flags: jute.FlagPersistentTTL, TTL: 3_600_000},
	} {
		q.Xid = int32(i + 1)
		if q.Op == jute.OpCreate {
			q.TTL = -1
		}
		_, err := conn.Write(request(q))
		require.NoError(t, err)
		require.Equal(t, jute.OK, answer(t, conn, q.Op).Err, q)
	}
}

// What was saved is, field for field, what the next server begins with: znodes, stats and sessions.
// Only the epoch is another.
func TestAServersWholeStateGoesRound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := start(t, zkserver.Config{})
		history(t, s)
		text := saved(t, s)
		again := start(t, zkserver.Config{Tree: strings.NewReader(text)})
		dump := func(s *zkserver.Server) string {
			_, rest, _ := strings.Cut(s.Dump(), ",") // the zxid
			return strings.ReplaceAll(rest, "server=0", "server=-1")
		}
		require.Equal(t, dump(s), dump(again))
		require.Contains(t, again.Dump(), "zxid 0x100000000,", "a higher epoch")
		lines, other := strings.SplitAfter(text, "\n"), strings.SplitAfter(saved(t, again), "\n")
		require.NotEqual(t, lines[0], other[0])
		require.Equal(t, lines[1:], other[1:], "the zxid alone")

		// The session ends when its client stays away, with its ephemerals.
		time.Sleep(time.Minute)
		require.Empty(t, again.Sessions())
		require.NotContains(t, again.Dump(), "/line/n-0000000000")
	})
}

// What is read in several pieces is the same.
func TestALargeTreeGoesRound(t *testing.T) {
	t.Parallel()
	s := start(t, zkserver.Config{Tree: strings.NewReader(large(2_505))})
	want := s.Dump()
	require.Equal(t, 2_505+251+4, strings.Count(want, "\n")-1)
	_, have, _ := strings.Cut(start(t, zkserver.Config{Tree: strings.NewReader(saved(t, s))}).Dump(), ",")
	require.True(t, strings.HasSuffix(want, have))
	require.NoError(t, s.CreateZnode("/p000000/new", nil))
	require.Contains(t, s.Dump(), "/p000000 \"\" czxid=0x1 mzxid=0x1 pzxid=0x2 version=0 cversion=11 aversion=0\n")
}

// large is a tree of so many znodes, ten to a parent that the file doesn't name.
func large(znodes int) string {
	var b strings.Builder
	for i := range znodes {
		fmt.Fprintf(&b, "{\"path\":\"/p%06d/c%06d\",\"data\":\"%0100d\"}\n", i/10, i, i)
	}
	return b.String()
}

func TestABadStateIsRefused(t *testing.T) {
	t.Parallel()
	for text, part := range map[string]string{
		`{"zxid":"0x7fffffff00000001"}`:                                              "no higher epoch",
		`{"session":"0x7fffffffffffffff","timeout":"1s"}`:                            `session 0x7fffffffffffffff: it occurs twice, or is no id`,
		`{"session":"0x1","timeout":"1s"}{"session":"0x1","timeout":"1s"}`:           `session 0x1: it occurs twice`,
		`{"session":"0x8000000000000000","timeout":"1s"}`:                            `is no id of a session`,
		`{"session":"0x1","timeout":"1s"}{"path":"/a","owner":"0x1"}{"path":"/a/b"}`: `"/a/b": zookeeper: no children for ephemerals`,
		`{"path":"/a/b"}{"path":"/a","owner":"0x1"}`:                                 `"/a/b": zookeeper: no children for ephemerals`,
		`{"path":"/a","extra":1}`:                                                    `unknown field "extra"`,
	} {
		_, err := zkserver.New(zkserver.Config{Tree: strings.NewReader(text)})
		require.ErrorContains(t, err, part, text)
	}
}

// Lines may come in any order; what came before its parent is below it; an ephemeral without its
// session is not kept.
func TestLinesInAnyOrder(t *testing.T) {
	t.Parallel()
	s := start(t, zkserver.Config{Tree: strings.NewReader(`
{"data":"below","path":"/a/b/c"}
{"path":"/a/b","kind":"container"}
{"path":"/a","sequence":7}
{"path":"/orphan","owner":"0x77"}`)})
	require.Equal(t, []string{
		`{"path":"/","data":"","sequence":2}`, `{"path":"/a","sequence":7}`, `{"path":"/a/b","kind":"container"}`, `{"path":"/a/b/c","data":"below"}`,
	}, written(t, s))
	require.NotContains(t, s.Dump(), "/orphan")
}

// How much of a processor's time a large tree takes to be written and read, and how much memory at
// most beside what is there:
//
//	go test ./internal/zkserver -run '^$' -bench File -benchtime 1x -scale.znodes 1000000
func BenchmarkFile(b *testing.B) {
	s, err := zkserver.New(zkserver.Config{Tree: strings.NewReader(large(*scaleZnodes))})
	require.NoError(b, err)
	defer s.Close()
	file := b.TempDir() + "/tree"
	for b.Loop() {
		f, err := os.Create(file)
		require.NoError(b, err)
		before, began := quiet(b), busy(b)
		require.NoError(b, s.Save(f))
		b.ReportMetric((busy(b) - began).Seconds(), "s/dump")
		b.ReportMetric(float64(peak(b)-before)/1e6, "MB/dump")
		require.NoError(b, f.Close())
		require.NoError(b, s.Close())
		f, err = os.Open(file)
		require.NoError(b, err)
		before, began = quiet(b), busy(b)
		again, err := zkserver.New(zkserver.Config{Tree: f})
		require.NoError(b, err)
		b.ReportMetric((busy(b) - began).Seconds(), "s/load")
		b.ReportMetric(float64(peak(b)-before)/1e6, "MB/load")
		require.NoError(b, again.Close())
		require.NoError(b, f.Close())
	}
}

// quiet gives memory back and begins to look for its peak anew; it returns what is in use.
func quiet(b *testing.B) int64 {
	b.Helper()
	debug.FreeOSMemory()
	require.NoError(b, os.WriteFile("/proc/self/clear_refs", []byte("5"), 0o600))
	return peak(b)
}

// busy is how long the process has used a processor.
func busy(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// peak is the most memory of the process since it was quiet.
func peak(b *testing.B) int64 {
	b.Helper()
	status, err := os.ReadFile("/proc/self/status")
	require.NoError(b, err)
	_, rest, found := strings.Cut(string(status), "VmHWM:")
	require.True(b, found)
	kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	require.NoError(b, err)
	return kb << 10
}
