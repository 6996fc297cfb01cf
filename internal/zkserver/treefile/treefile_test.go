package treefile_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/zkserver/treefile"
)

var everything = []treefile.Znode{
	{Path: "/app", Data: []byte("hello"), ACL: jute.OpenACL(), Sequence: -1},
	{Path: "/app/bin", Data: []byte{0, 0xff}, ACL: jute.OpenACL(), Sequence: -1},
	{Path: "/app/cache", ACL: jute.OpenACL(), TTL: 5 * time.Minute, Sequence: -1},
	{Path: "/app/empty", Data: []byte{}, ACL: jute.OpenACL(), Sequence: -1},
	{Path: "/app/jobs", ACL: jute.OpenACL(), Sequence: 17},
	{Path: "/app/locks", ACL: jute.OpenACL(), Container: true, Sequence: -1},
	{Path: "/app/safe", Data: []byte("1"), ACL: []jute.ACL{{Perms: 31, Scheme: "digest", ID: "bob:x"}, {Perms: 1, Scheme: "world", ID: "anyone"}}, Sequence: -1},
}

// text writes znodes in a form.
func text(form treefile.Form, znodes []treefile.Znode) ([]byte, error) {
	var b bytes.Buffer
	w := treefile.NewWriter(&b, form)
	for i := range znodes {
		if err := w.Znode(&znodes[i]); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

var forms = []treefile.Form{treefile.Lines, treefile.JSON, treefile.YAML}

// open is what a file that names no ACL means.
func open(znodes []treefile.Znode) []treefile.Znode {
	for i := range znodes {
		if znodes[i].ACL == nil {
			znodes[i].ACL = jute.OpenACL()
		}
	}
	return znodes
}

func TestForms(t *testing.T) {
	t.Parallel()
	for name, form := range map[string]struct {
		form treefile.Form
		text string
	}{
		"YAML": {treefile.YAML, `/app:
    data: hello
/app/bin:
    base64: AP8=
/app/cache:
    kind: ttl
    ttl: 5m0s
/app/empty:
    data: ""
/app/jobs:
    sequence: 17
/app/locks:
    kind: container
/app/safe:
    data: "1"
    acl:
        - perms: cdrwa
          scheme: digest
          id: bob:x
        - perms: r
          scheme: world
          id: anyone
`},
		"JSON Lines": {treefile.Lines, `{"path":"/app","data":"hello"}
{"path":"/app/bin","base64":"AP8="}
{"path":"/app/cache","kind":"ttl","ttl":"5m0s"}
{"path":"/app/empty","data":""}
{"path":"/app/jobs","sequence":17}
{"path":"/app/locks","kind":"container"}
{"path":"/app/safe","data":"1","acl":[{"perms":"cdrwa","scheme":"digest","id":"bob:x"},{"perms":"r","scheme":"world","id":"anyone"}]}
`},
		"JSON": {treefile.JSON, `{
  "/app": {"data":"hello"},
  "/app/bin": {"base64":"AP8="},
  "/app/cache": {"kind":"ttl","ttl":"5m0s"},
  "/app/empty": {"data":""},
  "/app/jobs": {"sequence":17},
  "/app/locks": {"kind":"container"},
  "/app/safe": {"data":"1","acl":[{"perms":"cdrwa","scheme":"digest","id":"bob:x"},{"perms":"r","scheme":"world","id":"anyone"}]}
}
`},
	} {
		file, err := text(form.form, everything)
		require.NoError(t, err, name)
		require.Equal(t, form.text, string(file), name)
		again, err := treefile.Parse(file)
		require.NoError(t, err, name)
		require.Equal(t, everything, open(again), name)
	}
}

func TestWhatPeopleWrite(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"/b: {data: 2026-11-21}\n# a comment\n/a:\n",
		"---\n/a: {}\n/b:\n  data: |-\n    2026-11-21\n",
		"{\"/b\":{\"data\":\"2026-11-21\"},\n\t\"/a\":{}}",
		` {"/b" : {"base64": "MjAyNi0xMS0yMQ=="}, "/a": {"data": null}}`,
	} {
		got, err := treefile.Parse([]byte(text))
		require.NoError(t, err, text)
		require.Equal(t, []treefile.Znode{{Path: "/a", Sequence: -1}, {Path: "/b", Data: []byte("2026-11-21"), Sequence: -1}}, got, text)
	}
	for _, text := range []string{"", "{}", "# nothing\n"} {
		got, err := treefile.Parse([]byte(text))
		require.NoError(t, err, text)
		require.Empty(t, got)
	}
}

func TestMistakesAreNamed(t *testing.T) {
	t.Parallel()
	for text, part := range map[string]string{
		"/a: {dta: x}":                "dta",
		`{"/a": {"dta": "x"}}`:        `"/a": json: unknown field "dta"`,
		"/a: {}\n/a: {}":              `"/a" already defined`,
		`{"/a": {}, "/a": {}}`:        `"/a" occurs twice`,
		"a: {}":                       `"a": a path begins with a slash`,
		"/a: {data: x, base64: eA==}": `"/a": both data and base64`,
		"/a: {base64: '='}":           `"/a": base64: illegal`,
		"/a: {kind: ephemeral}":       `"/a": kind "ephemeral" is neither`,
		"/a: {kind: ttl}":             `"/a": ttl: time: invalid duration`,
		"/a: {kind: ttl, ttl: 1us}":   `"/a": ttl: 1µs is shorter`,
		"/a: {ttl: 1s}":               `"/a": a ttl, and the kind is not`,
		"/a: {sequence: -1}":          `"/a": sequence -1 is negative`,
		"/a: {sequence: 3000000000}":  "3000000000",
		"/a: {acl: [{perms: rx}]}":    `"/a": perms "rx": 'x' is none of cdrwa`,
		"- /a":                        "cannot unmarshal",
		"/a: {}\n---\n/b: {}":         "more than one document",
		`{"/a": {}} {}`:               "something behind the tree",
		`{"/a": {}`:                   "EOF",
		`{"/a"}`:                      "expected colon",
		"/a: [":                       "yaml",
		"{/a: {}}":                    "invalid character",
	} {
		_, err := treefile.Parse([]byte(text))
		require.ErrorContains(t, err, part, text)
	}
}

// Text that a block of YAML would not bring back.
func TestTextSurvives(t *testing.T) {
	t.Parallel()
	for _, prose := range []string{"\nA", "\n\nA", " A", "A\n B", "A \nB", "A\n", "\tA", "\r\n", "\u2028", "~", "no", "12", "<<", "- a", "#", "'", "\"", "\x00", "é\n\u00a0"} {
		z := treefile.Znode{Path: "/" + prose, Data: []byte(prose), ACL: []jute.ACL{{Scheme: prose, ID: prose}}, Sequence: -1}
		for _, form := range forms {
			file, err := text(form, []treefile.Znode{z})
			require.NoError(t, err, "%q", prose)
			again, err := treefile.Parse(file)
			require.NoError(t, err, "%q:\n%s", prose, file)
			require.Equal(t, []treefile.Znode{z}, again, "%q:\n%s", prose, file)
		}
	}
}

func TestRandomTreesSurvive(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var all []treefile.Znode
		for i := range rapid.IntRange(0, 5).Draw(t, "znodes") {
			z := treefile.Znode{Path: fmt.Sprintf("/%03d%s", i, rapid.String().Draw(t, "name")), ACL: jute.OpenACL(), Sequence: rapid.Int32Range(-1, 1<<31-1).Draw(t, "sequence")}
			switch rapid.IntRange(0, 2).Draw(t, "data") {
			case 0:
				z.Data = []byte(rapid.String().Draw(t, "text"))
			case 1:
				z.Data = rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
			}
			switch rapid.IntRange(0, 2).Draw(t, "kind") {
			case 0:
				z.Container = true
			case 1:
				z.TTL = time.Duration(rapid.Int64Range(1, 1<<40).Draw(t, "ttl")) * time.Millisecond
			}
			if rapid.Bool().Draw(t, "acl") {
				z.ACL = []jute.ACL{{Perms: jute.Perms(rapid.Int32Range(0, 31).Draw(t, "perms")), Scheme: "digest", ID: rapid.String().Draw(t, "id")}}
			}
			all = append(all, z)
		}
		for _, form := range forms {
			file, err := text(form, all)
			if err != nil {
				t.Fatal(err)
			}
			again, err := treefile.Parse(file)
			if err != nil {
				t.Fatalf("%v in\n%s", err, file)
			}
			if len(all)+len(again) > 0 {
				require.Equal(t, all, open(again), "%s", file)
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, form := range forms {
		file, err := text(form, everything)
		require.NoError(f, err)
		f.Add(file)
	}
	f.Add([]byte("/a: &a {data: x}\n/b: *a\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := treefile.Parse(text)
		if err != nil {
			return
		}
		for i := range all {
			require.Equal(t, byte('/'), all[i].Path[0])
			require.False(t, all[i].Container && all[i].TTL > 0)
		}
	})
}
