package treefile_test

// The lines of a tree as text: what is in them, what people may write, which mistakes are named.

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/test/tier"
	"github.com/troupe-go/troupe/internal/zkserver/tree"
	"github.com/troupe-go/troupe/internal/zkserver/treefile"
)

func TestMain(m *testing.M) { tier.Main(m) }

const everything = `{"path":"/app","data":"hello"}
{"path":"/app/bin","base64":"AP8="}
{"path":"/app/cache","kind":"ttl","ttl":"5m0s"}
{"path":"/app/empty","data":""}
{"path":"/app/jobs","sequence":17}
{"path":"/app/locks","kind":"container"}
{"path":"/app/safe","data":"1","acl":[{"perms":"cdrwa","scheme":"digest","id":"bob:x"},{"perms":"r","scheme":"world","id":"anyone"}]}
`

func znode(path string, data []byte, owner int64) treefile.Znode {
	return treefile.Znode{Path: path, Data: data, ACL: jute.OpenACL(), Owner: owner, Sequence: -1}
}

func read(text string) ([]treefile.Znode, error) { return treefile.Read(strings.NewReader(text)) }

func text(t require.TestingT, znodes []treefile.Znode) string {
	var b bytes.Buffer
	require.NoError(t, treefile.Write(&b, znodes))
	return b.String()
}

func TestAFileHasEverything(t *testing.T) {
	t.Parallel()
	want := []treefile.Znode{
		znode("/app", []byte("hello"), 0),
		znode("/app/bin", []byte{0, 0xff}, 0),
		znode("/app/cache", nil, tree.OwnerTTL(300_000)),
		znode("/app/empty", []byte{}, 0),
		znode("/app/jobs", nil, 0),
		znode("/app/locks", nil, tree.OwnerContainer),
		znode("/app/safe", []byte("1"), 0),
	}
	want[4].Sequence = 17
	want[6].ACL = []jute.ACL{{Perms: 31, Scheme: "digest", ID: "bob:x"}, {Perms: 1, Scheme: "world", ID: "anyone"}}
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
		require.Equal(t, []treefile.Znode{znode("/a", nil, 0), znode("/b", []byte("x"), 0)}, got, text)
	}
	got, err := read("\n")
	require.NoError(t, err)
	require.Empty(t, got)
}

func TestMistakesAreNamed(t *testing.T) {
	t.Parallel()
	for text, part := range map[string]string{
		`{"path":"/a"}` + "\n" + `{"path":"/b","dta":"x"}`: `line 2: json: unknown field "dta"`,
		`{"path":"/a"}{"path":"/b"}{"path":"/a"}`:          `"/a" occurs twice`,
		`{"path":"a"}`: `line 1: "a": a path begins with a slash`,
		`{"path":"/a","data":"x","base64":"eA=="}`:   `"/a": both data and base64`,
		`{"path":"/a","base64":"="}`:                 "line 1: illegal base64",
		`{"path":"/a","kind":"ephemeral"}`:           `"/a": kind "ephemeral" is neither`,
		`{"path":"/a","kind":"ttl"}`:                 `"/a": ttl: time: invalid duration`,
		`{"path":"/a","kind":"ttl","ttl":"1us"}`:     `"/a": ttl: 1µs is out of range`,
		`{"path":"/a","kind":"ttl","ttl":"999999h"}`: `"/a": ttl: 999999h0m0s is out of range`,
		`{"path":"/a","ttl":"1s"}`:                   `"/a": a ttl, and the kind is not`,
		`{"path":"/a","sequence":-1}`:                `"/a": sequence -1 is negative`,
		`{"path":"/a","sequence":3000000000}`:        "3000000000",
		`{"path":"/a","acl":[{"perms":"rx"}]}`:       `"/a": perms "rx": 'x' is none of cdrwa`,
		`{"data":"x"}`:                               "a path begins with a slash",
		`["/a"]`:                                     "cannot unmarshal",
		`{"path":"/a"`:                               "EOF",
		"/a: {}":                                     "invalid character",
	} {
		_, err := read(text)
		require.ErrorContains(t, err, part, text)
	}
}

func TestRandomTreesSurvive(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var want []treefile.Znode
		for i := range rapid.IntRange(0, 5).Draw(t, "znodes") {
			z := znode(fmt.Sprintf("/%03d%s", i, rapid.String().Draw(t, "name")), nil, 0)
			z.Sequence = rapid.Int32Range(-1, 1<<31-1).Draw(t, "sequence")
			switch rapid.IntRange(0, 2).Draw(t, "data") {
			case 0:
				z.Data = []byte(rapid.String().Draw(t, "text"))
			case 1:
				z.Data = rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
			}
			switch rapid.IntRange(0, 2).Draw(t, "kind") {
			case 0:
				z.Owner = tree.OwnerContainer
			case 1:
				z.Owner = tree.OwnerTTL(rapid.Int64Range(1, tree.MaxTTL).Draw(t, "ttl"))
			}
			if rapid.Bool().Draw(t, "acl") {
				z.ACL = []jute.ACL{{Perms: rapid.Int32Range(0, 31).Draw(t, "perms"), Scheme: "digest", ID: rapid.String().Draw(t, "id")}}
			}
			want = append(want, z)
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
