package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestALineOfAProfile(t *testing.T) {
	t.Parallel()
	name, begin, count, ok := block(module + "/session/read.go:12.3,14.5 2 7")
	require.True(t, ok)
	require.Equal(t, "session/read.go", name)
	require.Equal(t, []int{12, 7}, []int{begin, count})
	for _, line := range []string{"", "mode: count", "x.go", "x.go:a.1,2.2 1 1", "x.go:1.1,2.2 1 a"} {
		_, _, _, ok := block(line)
		require.False(t, ok, line)
	}
}

func TestWhatIsCounted(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write := func(name, text string) {
		name = filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	write("a/a.go", "package a\n\nimport _ \""+module+"/b\"\n\n// T is one.\ntype T[K any] struct{ x, y int }\n\nfunc (t *T[K]) M() {}\n")
	write("a/more.go", "package a\n\nfunc (t T[K]) N() {}\n")
	write("b/b.go", "package b\n\nimport _ \""+module+"/a\"\n")
	write("b/world_test.go", "package b\n")
	write("b/b_test.go", "package b\n")
	write("examples/x/x.go", "package x\n")
	files, err := read(root)
	require.NoError(t, err)
	var out bytes.Buffer
	printLines(&out, files)
	printTypes(&out, files)
	printArrows(&out, files)
	for _, want := range []string{
		`examples, docs +14\n`, `lines of tests +1\n`, `test helpers +1 · 1\n`, `of a\.T +2 · 2 · 2\n`, `a → b \(1\), b → a \(1\)\n`,
	} {
		require.Regexp(t, want, out.String())
	}
}

// A comment is read in a window beside another one. Diagrams and quoted code are as wide as they
// have to be.
func TestCommentsAreNarrow(t *testing.T) {
	t.Parallel()
	files, err := read("../..")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, f := range files {
		for i, line := range f.lines {
			text := strings.TrimLeft(line, "\t")
			if strings.HasPrefix(text, "// ") && !strings.HasPrefix(text, "//  ") && width(line) > 100 {
				t.Errorf("%s:%d: a comment of %d columns", f.name, i+1, width(line))
			}
		}
	}
}
