package treefile_test

// The lines of a tree as text: what is in them, what people may write, which mistakes are named.

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/internal/zkserver/tree"
	"github.com/troupe-go/troupe/internal/zkserver/treefile"
)

func TestMain(m *testing.M) {
	tier.Fix()
	goleak.VerifyTestMain(m)
}

const (
	everything = `{"zxid":"0x1a00000007"}
{"session":"0x10001a4c0de0000","timeout":"10s","password":"AQID"}
{"path":"/app","data":"hello"}
{"path":"/app/bin","base64":"AP8="}
{"path":"/app/cache","kind":"ttl","ttl":"5m0s"}
{"path":"/app/e","owner":"0x10001a4c0de0000","stat":{"czxid":"0x2","mzxid":"0x3","pzxid":"0x4","ctime":5,"mtime":6,"version":7,"aversion":8}}
{"path":"/app/empty","data":""}
{"path":"/app/jobs","sequence":17}
{"path":"/app/locks","kind":"container"}
{"path":"/app/safe","data":"1","acl":[{"perms":"cdrwa","scheme":"digest","id":"bob:x"},{"perms":"r","scheme":"world","id":"anyone"}]}
`
	session = 0x10001a4c0de0000
)

func znode(path string, data []byte, owner int64) treefile.Znode {
	return treefile.Znode{Path: path, Data: data, ACL: jute.OpenACL(), Owner: owner, Sequence: -1}
}

func read(text string) (*treefile.File, error) { return treefile.Read(strings.NewReader(text)) }

func text(t require.TestingT, f *treefile.File) string {
	var b bytes.Buffer
	require.NoError(t, f.Write(&b))
	return b.String()
}

func TestAFileHasEverything(t *testing.T) {
	t.Parallel()
	want := &treefile.File{
		Zxid:     0x1a00000007,
		Sessions: []treefile.Session{{ID: session, Timeout: 10 * time.Second, Password: []byte{1, 2, 3}}},
		Znodes: []treefile.Znode{
			znode("/app", []byte("hello"), 0),
			znode("/app/bin", []byte{0, 0xff}, 0),
			znode("/app/cache", nil, tree.OwnerTTL(300_000)),
			znode("/app/e", nil, session),
			znode("/app/empty", []byte{}, 0),
			znode("/app/jobs", nil, 0),
			znode("/app/locks", nil, tree.OwnerContainer),
			znode("/app/safe", []byte("1"), 0),
		},
	}
	want.Znodes[3].Stat = &jute.Stat{Czxid: 2, Mzxid: 3, Pzxid: 4, Ctime: 5, Mtime: 6, Version: 7, Aversion: 8}
	want.Znodes[5].Sequence = 17
	want.Znodes[7].ACL = []jute.ACL{{Perms: 31, Scheme: "digest", ID: "bob:x"}, {Perms: 1, Scheme: "world", ID: "anyone"}}
	got, err := read(everything)
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.Equal(t, strings.Split(everything, "\n"), strings.Split(text(t, got), "\n"))
}

func TestWhatPeopleWriteIsRead(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"{\"path\": \"/b\", \"data\": \"x\"}\n\n{\"path\": \"/a\"}",
		` {"data":"x","path":"/b"} {"path":"/a", "data":null}`,
		"{\"path\":\"/b\",\n\t\"base64\":\"eA==\"}{\"acl\":[],\"path\":\"/a\"}",
	} {
		got, err := read(text)
		require.NoError(t, err, text)
		require.Equal(t, &treefile.File{Zxid: -1, Znodes: []treefile.Znode{znode("/a", nil, 0), znode("/b", []byte("x"), 0)}}, got, text)
	}
	got, err := read("\n")
	require.NoError(t, err)
	require.Equal(t, &treefile.File{Zxid: -1}, got)
}

func TestMistakesAreNamed(t *testing.T) {
	t.Parallel()
	for text, part := range map[string]string{
		`{"path":"/a"}` + "\n" + `{"path":"/b","dta":"x"}`: `line 2: json: unknown field "dta"`,
		`{"path":"/a"}{"path":"/b"}{"path":"/a"}`:          `"/a" occurs twice`,
		`{"path":"a"}`: `line 1: "a": a path begins with a slash`,
		`{"path":"/a","data":"x","base64":"eA=="}`:        `"/a": both data and base64`,
		`{"path":"/a","base64":"="}`:                      "line 1: illegal base64",
		`{"path":"/a","kind":"ephemeral"}`:                `"/a": kind "ephemeral" is neither`,
		`{"path":"/a","kind":"ttl"}`:                      `"/a": ttl: time: invalid duration`,
		`{"path":"/a","kind":"ttl","ttl":"1us"}`:          `"/a": ttl: 1µs is out of range`,
		`{"path":"/a","kind":"ttl","ttl":"999999h"}`:      `"/a": ttl: 999999h0m0s is out of range`,
		`{"path":"/a","ttl":"1s"}`:                        `"/a": a ttl, and the kind is not`,
		`{"path":"/a","sequence":-1}`:                     `"/a": sequence -1 is negative`,
		`{"path":"/a","sequence":3000000000}`:             "3000000000",
		`{"path":"/a","acl":[{"perms":"rx"}]}`:            `"/a": perms "rx": 'x' is none of cdrwa`,
		`{"path":"/a","owner":"0x1","kind":"container"}`:  `"/a": an owner that can't be`,
		`{"path":"/a","owner":"0xff00000000000001"}`:      `"/a": an owner that can't be`,
		`{"zxid":"soon"}`:                                 `"soon" is no number`,
		`{"zxid":"0x8000000000000000"}`:                   "is negative",
		`{"session":"0x1"}`:                               `session 0x1: timeout: "" is no time`,
		`{"session":"0x1","timeout":"-1s"}`:               `session 0x1: timeout: "-1s" is no time`,
		`{"session":"0x1","timeout":"1s","password":"?"}`: "line 1: illegal base64",
		`{"session":"0x1","path":"/a"}`:                   "a line has one of path, session and zxid",
		`{"data":"x"}`:                                    "a line has one of path, session and zxid",
		`["/a"]`:                                          "cannot unmarshal",
		`{"path":"/a"`:                                    "EOF",
		"/a: {}":                                          "invalid character",
	} {
		_, err := read(text)
		require.ErrorContains(t, err, part, text)
	}
}

func TestRandomTreesSurvive(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := &treefile.File{Zxid: rapid.Int64Min(-1).Draw(t, "zxid")}
		for i := range rapid.IntRange(0, 5).Draw(t, "znodes") {
			z := znode(fmt.Sprintf("/%03d%s", i, rapid.String().Draw(t, "name")), nil, 0)
			z.Sequence = rapid.Int32Range(-1, 1<<31-1).Draw(t, "sequence")
			switch rapid.IntRange(0, 2).Draw(t, "data") {
			case 0:
				z.Data = []byte(rapid.String().Draw(t, "text"))
			case 1:
				z.Data = rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
			}
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				z.Owner = tree.OwnerContainer
			case 1:
				z.Owner = tree.OwnerTTL(rapid.Int64Range(1, tree.MaxTTL).Draw(t, "ttl"))
			case 2:
				z.Owner = rapid.Int64Min(1).Draw(t, "session")
			}
			if rapid.Bool().Draw(t, "acl") {
				z.ACL = []jute.ACL{{Perms: jute.Perms(rapid.Int32Range(0, 31).Draw(t, "perms")), Scheme: "digest", ID: rapid.String().Draw(t, "id")}}
			}
			want.Znodes = append(want.Znodes, z)
		}
		file := text(t, want)
		again, err := read(file)
		require.NoError(t, err, file)
		require.Equal(t, want, again, file)
	})
}

func FuzzRead(f *testing.F) {
	f.Add(everything)
	f.Fuzz(func(t *testing.T, file string) {
		got, err := read(file)
		if err != nil {
			return
		}
		again, err := read(text(t, got))
		require.NoError(t, err)
		require.Equal(t, text(t, got), text(t, again))
	})
}
