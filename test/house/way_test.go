package main

// The way of an operation: what has run is found in a profile, and the page that shows a part of a
// way is true.

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/tier"
)

func TestWhatHasRunIsFoundInAProfile(t *testing.T) {
	t.Parallel()
	files := source(t, map[string]string{
		"session/b.go":      "package session\n\nfunc (k *T[K]) Ran() {\n\tgo func() {}()\n}\n\nfunc idle() {}\n",
		"session/a.go":      "package session\n\nfunc ran() {}\n\nfunc Ran() {}\n\nfunc (T) Idle() {}\n",
		"session/a_test.go": "package session\n\nfunc ran() {}\n",
		"recipe/b.go":       "package recipe\n\nfunc ran() {}\n",
		"test/way/main.go":  "package main\n\nfunc main() {}\n",
	})
	profile := "mode: atomic\nexample.com/session/b.go:7.1,7.9 1 1\n"
	for _, line := range []string{"b.go:3.24,5.2 1 0", "b.go:4.12,4.13 1 20", "b.go:7.13,7.14 1 0", "a.go:3.12,3.13 0 7", "a.go:5.12,5.13 0 1", "a.go:7.17,7.18 0 0", "a_test.go:3.12,3.13 0 1"} {
		profile += module + "/session/" + line + "\n"
	}
	profile += module + "/test/way/main.go:3.13,3.14 1 1\n"
	stages := []stage{{"Begin", functions(files, []byte(profile))}, {"→ create", nil}}
	var out bytes.Buffer
	printWay(&out, stages)
	require.Equal(t, strings.Join([]string{
		"Begin",
		"    session/a.go:3                                       ran",
		"    session/a.go:5                                       Ran",
		"    session/b.go:3                                       T.Ran",
		"→ create",
		"3 functions, of 1 types, in 1 packages",
		"",
	}, "\n"), out.String())
	require.Empty(t, countTypes(&out, stages))
	for i := range wayTypes {
		stages[1].functions = append(stages[1].functions, function{file: files[0], receiver: fmt.Sprint("T", i)}, function{file: files[0], receiver: "T0"})
	}
	require.Equal(t, []string{fmt.Sprintf("types on the way of a held lock: %d, of %d (make way OP=lock)", wayTypes+1, wayTypes)}, countTypes(&out, stages))
}

// step is a row of the page: functions of one stage.
type step struct {
	stage     string
	functions []string
}

// pageOfTheWay reads the table of docs/architecture.md. A row without a stage goes on with the one
// above.
func pageOfTheWay(t *testing.T) (steps []step) {
	t.Helper()
	text, err := os.ReadFile("../../docs/architecture.md")
	require.NoError(t, err)
	_, text, _ = bytes.Cut(text, []byte("\n## The way of a lock\n"))
	text, _, _ = bytes.Cut(text, []byte("\n## "))
	stage, quoted := "", regexp.MustCompile("`([^`]+)`")
	for _, row := range regexp.MustCompile("(?m)^\\|([^|`]*)\\|([^|]*`[^|]*)\\|").FindAllStringSubmatch(string(text), -1) {
		if title := strings.TrimSpace(row[1]); title != "" {
			stage = title
		}
		s := step{stage: stage}
		for _, m := range quoted.FindAllStringSubmatch(row[2], -1) {
			s.functions = append(s.functions, m[1])
		}
		steps = append(steps, s)
	}
	require.Len(t, steps, 10)
	return steps
}

// qualified is a function as the page names it: by its package and its type.
func qualified(f function) string { return path.Base(f.folder()) + "." + f.String() }

func TestThePageOfTheWayNamesFunctions(t *testing.T) {
	t.Parallel()
	files, err := read("../..")
	require.NoError(t, err)
	declared := make(map[string]bool)
	for _, f := range all(files, func(*file, int, int) bool { return true }) {
		declared[qualified(f)] = true
	}
	for _, s := range pageOfTheWay(t) {
		for _, name := range s.functions {
			require.True(t, declared[name], "docs/architecture.md: %s is no function", name)
		}
	}
}

// The way is the same each time, so that its types can be counted; and it is the one on the page.
func TestTheWayOfALockIsAsThePageSays(t *testing.T) {
	tier.Real(t)
	files, err := read("../..")
	require.NoError(t, err)
	linked, err := link("../..")
	require.NoError(t, err)
	var first, second bytes.Buffer
	stages, err := way("../..", "lock", files, linked)
	require.NoError(t, err)
	printWay(&first, stages)
	again, err := way("../..", "lock", files, linked)
	require.NoError(t, err)
	printWay(&second, again)
	require.Equal(t, first.String(), second.String())
	require.Empty(t, countTypes(&second, stages))

	ran := make(map[string]map[string]bool)
	for _, s := range stages {
		ran[s.title] = make(map[string]bool)
		for _, f := range s.functions {
			ran[s.title][qualified(f)] = true
		}
		if strings.HasPrefix(s.title, "→") {
			require.Empty(t, s.functions, "while the server answers")
		}
	}
	for _, s := range pageOfTheWay(t) {
		for _, name := range s.functions {
			require.True(t, ran[s.stage][name], "docs/architecture.md: from %q on, %s does not run", s.stage, name)
		}
	}
}
