package docs_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// line is what a line of a table of calls says, done.
type line func(t *testing.T)

var firstCell = regexp.MustCompile("(?m)^\\| `([^`]+)` \\|")

// table runs a page's lines, each of which must be there, and each of the page's.
func table(t *testing.T, page string, lines map[string]line) {
	t.Helper()
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	var named []string
	for _, m := range firstCell.FindAllStringSubmatch(string(text), -1) {
		named = append(named, m[1])
		if lines[m[1]] == nil {
			t.Errorf("%s: the line of %s has no test", page, m[1])
		}
	}
	for name, run := range lines {
		if !slices.Contains(named, name) {
			t.Errorf("%s: no line of %s", page, name)
		}
		t.Run(strings.ReplaceAll(name, "/", " "), func(t *testing.T) {
			t.Parallel()
			run(t)
		})
	}
}
