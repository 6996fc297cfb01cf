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
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/internal/zkserver"
	"github.com/troupe-go/troupe/internal/zkserver/treefile"
)

var forms = map[string]treefile.Form{"lines": treefile.Lines, "json": treefile.JSON, "yaml": treefile.YAML}

func saved(t testing.TB, s *zkserver.Server, form treefile.Form) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, s.Save(&b, form))
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
	for name, form := range forms {
		synctest.Test(t, func(t *testing.T) {
			s := start(t, zkserver.Config{})
			history(t, s)
			text := saved(t, s, form)
			again := start(t, zkserver.Config{Tree: strings.NewReader(text)})
			dump := func(s *zkserver.Server) string {
				_, rest, _ := strings.Cut(s.Dump(), ",") // the zxid
				return strings.ReplaceAll(rest, "server=0", "server=-1")
			}
			require.Equal(t, dump(s), dump(again), name)
			require.Contains(t, again.Dump(), "zxid 0x100000000,", "a higher epoch")
			lines, other := strings.SplitAfter(text, "\n"), strings.SplitAfter(saved(t, again, form), "\n")
			different := 0
			for i := range lines {
				if lines[i] != other[i] {
					different++
				}
			}
			require.Equal(t, 1, different, "the zxid alone")

			// The session ends when its client stays away, with its ephemerals.
			time.Sleep(time.Minute)
			require.Empty(t, again.Sessions())
			require.NotContains(t, again.Dump(), "/line/n-0000000000")
		})
	}
}

// Trees too large for the parser of YAML are read piece by piece, and are the same.
func TestALargeTreeIsTheSameInAllForms(t *testing.T) {
	tier.Soak(t)
	t.Parallel()
	s := start(t, zkserver.Config{Tree: strings.NewReader(large(5_000))})
	want := s.Dump()
	for name, form := range forms {
		again := start(t, zkserver.Config{Tree: strings.NewReader(saved(t, s, form))})
		_, have, _ := strings.Cut(again.Dump(), ",")
		require.True(t, strings.HasSuffix(want, have), name)
	}
	require.Equal(t, 5_504, len(strings.Split(want, "\n"))-2)
}

// large is a tree of so many znodes, ten to a parent that the file doesn't name, and one long line.
func large(znodes int) string {
	var b strings.Builder
	for i := range znodes {
		data := fmt.Sprintf("%0100d", i)
		if i == 77 {
			data = strings.Repeat("long ", 300_000)
		}
		fmt.Fprintf(&b, "{\"path\":\"/p%06d/c%06d\",\"data\":%q}\n", i/10, i, data)
	}
	return b.String()
}

func TestABadStateIsRefused(t *testing.T) {
	t.Parallel()
	for text, part := range map[string]string{
		`{"path":"/a"}` + "\n" + `{"path":"/a"}`:                                     `line 2: "/a": it occurs twice`,
		`{"path":"/a"}` + "\n" + `{"zxid":"0x1"}`:                                    `line 2: zxid 0x1: it is negative or stands behind`,
		`{"zxid":"0x8000000000000000"}`:                                              "it is negative",
		`{"zxid":"0x7fffffff00000001"}`:                                              "there is no higher epoch",
		`{"session":"0x7fffffffffffffff","timeout":"1s"}`:                            `session 0x7fffffffffffffff: it occurs twice, or is no id`,
		`{"zxid":"soon"}`:                                                            `"soon" is no number`,
		`{"session":"0x1","timeout":"1s"}{"session":"0x1","timeout":"1s"}`:           `session 0x1: it occurs twice`,
		`{"session":"0x8000000000000000","timeout":"1s"}`:                            `is no id of a session`,
		`{"session":"0x1"}`:                                                          `session 0x1: timeout: `,
		`{"session":"0x1","timeout":"1s","password":"?"}`:                            `session 0x1: base64: `,
		`{"session":"0x1","path":"/a"}`:                                              `a line has one of path, session and zxid`,
		`{"data":"x"}`:                                                               `a line has one of path, session and zxid`,
		`{"path":"/a","owner":"0x1","kind":"container"}`:                             `"/a": an owner that can't be`,
		`{"path":"/a","owner":"0xff00000000000001"}`:                                 `"/a": an owner that can't be`,
		`{"session":"0x1","timeout":"1s"}{"path":"/a","owner":"0x1"}{"path":"/a/b"}`: `"/a/b": zookeeper: no children for ephemerals`,
		`{"path":"/a/b"}{"path":"/a","owner":"0x1"}`:                                 `"/a": zookeeper: no children for ephemerals`,
		`{"path":"/zookeeper","kind":"container"}`:                                   `"/zookeeper": it exists`,
		`{"path":"a"}`:            `"a": a path begins with a slash`,
		`{"path":"/a","extra":1}`: `unknown field "extra"`,
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
	require.Equal(t, "/:\n    data: \"\"\n    sequence: 2\n/a:\n    sequence: 7\n/a/b:\n    kind: container\n/a/b/c:\n    data: below\n", written(t, s, ".yaml"))
	require.NotContains(t, s.Dump(), "/orphan")
}

// How much of a processor's time a large tree takes to be written and read, and how much memory at
// most beside what is there:
//
//	go test ./internal/zkserver -run '^$' -bench 'File/lines' -benchtime 1x -scale.znodes 1000000
func BenchmarkFile(b *testing.B) {
	for name, form := range forms {
		b.Run(name, func(b *testing.B) {
			s, err := zkserver.New(zkserver.Config{Tree: strings.NewReader(large(*scaleZnodes))})
			require.NoError(b, err)
			defer s.Close()
			file := b.TempDir() + "/tree"
			for b.Loop() {
				f, err := os.Create(file)
				require.NoError(b, err)
				before, began := quiet(b), busy(b)
				require.NoError(b, s.Save(f, form))
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
		})
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
