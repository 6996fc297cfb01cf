// Package docs_test holds the documentation to what is true: its code is code that is compiled and
// run, and its links lead somewhere.
package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/tier"
)

func TestMain(m *testing.M) { tier.Main(m) }

const root = ".."

// TestCodeInDocsIsCompiled: every block of Go in a page is, line by line but for its indentation,
// part of a Go file of this module.
func TestCodeInDocsIsCompiled(t *testing.T) {
	t.Parallel()
	var sources [][]string
	for _, file := range files(t, ".go") {
		sources = append(sources, lines(read(t, file)))
	}
	blocks := 0
	for _, page := range files(t, ".md") {
		for _, block := range goBlocks(read(t, page)) {
			blocks++
			if !slices.ContainsFunc(sources, func(source []string) bool { return contains(source, block) }) {
				t.Errorf("%s: nobody compiles this:\n%s", page, strings.Join(block, "\n"))
			}
		}
	}
	require.Greater(t, blocks, 10)
}

var codeFence = regexp.MustCompile("(?ms)^```go\n(.*?)^```$")

func goBlocks(page string) [][]string {
	var all [][]string
	for _, m := range codeFence.FindAllStringSubmatch(page, -1) {
		all = append(all, lines(strings.TrimSuffix(m[1], "\n")))
	}
	return all
}

// lines are those of a text, without their indentation.
func lines(text string) []string {
	all := strings.Split(text, "\n")
	for i := range all {
		all[i] = strings.TrimSpace(all[i])
	}
	return all
}

// contains tells whether the lines of a block follow one another in a source.
func contains(source, block []string) bool {
	for i := 0; i+len(block) <= len(source); i++ {
		if slices.Equal(source[i:i+len(block)], block) {
			return true
		}
	}
	return false
}

var link = regexp.MustCompile(`\]\(([^)#:\s]+)(?:#[^)]*)?\)`)

// TestLinksLeadSomewhere: those to files of this repository.
func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	for _, page := range files(t, ".md") {
		for _, m := range link.FindAllStringSubmatch(read(t, page), -1) {
			_, err := os.Stat(filepath.Join(filepath.Dir(page), m[1]))
			require.NoError(t, err, "%s links to %s", page, m[1])
		}
	}
}

var (
	cited    = regexp.MustCompile("`(Test\\w+)`")
	declared = regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)
)

// TestTheTestsThatProofNamesExist: also those that its table says to catch a mutant.
func TestTheTestsThatProofNamesExist(t *testing.T) {
	t.Parallel()
	all := make(map[string]bool)
	for _, file := range files(t, ".go") {
		for _, m := range declared.FindAllStringSubmatch(read(t, file), -1) {
			all[m[1]] = true
		}
	}
	for _, m := range cited.FindAllStringSubmatch(read(t, "proof.md"), -1) {
		assert.True(t, all[m[1]], m[1])
	}
}

// files are those of the module with an extension, but for testdata.
func files(t *testing.T, ext string) []string {
	t.Helper()
	var found []string
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata"):
			return filepath.SkipDir
		case filepath.Ext(path) == ext:
			found = append(found, path)
		}
		return nil
	}))
	return found
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(text)
}
