package main

// What is counted, and what is above its budget.

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// source writes the files of a module, and reads them.
func source(t *testing.T, texts map[string]string) []*file {
	t.Helper()
	root := t.TempDir()
	for name, text := range texts {
		name = filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	files, err := read(root)
	require.NoError(t, err)
	return files
}

func TestLinesHaveABudget(t *testing.T) {
	t.Parallel()
	session := parts[partOf(parts, "session/internal/lease")]
	require.Equal(t, "session", session.name)
	long := "package session\n" + strings.Repeat("// one more\n", session.budget)
	var out bytes.Buffer
	over := countLines(&out, source(t, map[string]string{
		"session/a.go":              long,
		"session/a_test.go":         long,
		"examples/b.go":             long,
		"internal/test/bubble/b.go": long,
		"internal/zkserver/zk.go":   "package zkserver\n",
		"elsewhere/c.go":            "package c\n",
	}))
	require.Len(t, over, 2)
	require.Contains(t, over, "elsewhere: no part of the product (test/house/budget.go)")
	require.Regexp(t, `^session: \d+ lines, of \d+$`, over[1])
	require.Regexp(t, `internal/zkserver +1 `, out.String())
	require.Empty(t, countLines(&out, source(t, map[string]string{"session/a.go": "package session\n"})))
}

func TestWhatIsLinkedHasALimit(t *testing.T) {
	t.Parallel()
	long := "package p\n" + strings.Repeat("\n", sums[1].budget-1)
	texts := map[string]string{
		"recipe/a.go": "package p\n\n\n", "recipe/recipetest/b.go": "package p\n", "zktest/c.go": long, "zktest/c_test.go": long, "cmd/troupe/d.go": "package p\n\n",
	}
	var out bytes.Buffer
	over := countSums(&out, source(t, texts), []string{"recipe"})
	require.Equal(t, []string{fmt.Sprintf("test tools: %d lines, of %d", sums[1].budget+1, sums[1].budget)}, over)
	require.Regexp(t, `linked +3 +\d+\n.*\ncommands and fx +2 `, out.String())
}

func TestWhatALockLinksHasALimit(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.Empty(t, countLinked(&out, binary{linkedPackages, linkedModules, linkedBytes}))
	require.Equal(t, []string{
		fmt.Sprintf("a program with a session and a lock: %d packages that are not Go's, of %d (docs/decisions/0049)", linkedPackages+1, linkedPackages),
		fmt.Sprintf("a program with a session and a lock: %d bytes, of %d (docs/decisions/0049)", linkedBytes+1, linkedBytes),
	}, countLinked(&out, binary{linkedPackages + 1, linkedModules, linkedBytes + 1}))
}

func TestMethodsAndArrowsHaveABudget(t *testing.T) {
	t.Parallel()
	methods := func(n int) string {
		return "package lock\n\ntype T[K any] struct{}\n" + strings.Repeat("\nfunc (t *T[K]) M() {}\n", n/2) + strings.Repeat("\nfunc (t T[K]) N() {}\n", n-n/2)
	}
	var out bytes.Buffer
	require.Empty(t, countMethods(&out, source(t, map[string]string{"recipes/lock/t.go": methods(most)})))
	require.Equal(t, []string{"recipes/lock.T: 41 methods, of 40"}, countMethods(&out, source(t, map[string]string{"recipes/lock/t.go": methods(most + 1)})))

	uses := func(folder string) string { return "package x\n\nimport _ \"" + module + "/" + folder + "\"\n" }
	require.Empty(t, countArrows(&out, source(t, map[string]string{"recipes/lock/x.go": uses("session")})))
	require.Equal(t, []string{"session → recipes: 1 imports that run upwards, of 0"}, countArrows(&out, source(t, map[string]string{"session/x.go": uses("recipes/lock")})))
}

func TestWhatSessionExportsHasABudget(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	text := "package session\n\ntype T struct{ A, b int }\n\nfunc (T) M() {}\n\nfunc (T) m() {}\n\ntype u struct{ C int }\n\nfunc (u) N() {}\n\ntype I interface{ O(); p() }\n\nfunc F() {}\n\nconst X, y = 1, 2\n"
	require.Empty(t, countFace(&out, source(t, map[string]string{"session/t.go": text, "session/t_test.go": text, "recipe/t.go": text})))
	require.Regexp(t, `types +2\nnames in all +7\n`, out.String())
	over := countFace(&out, source(t, map[string]string{"session/t.go": "package session\n" + strings.Repeat("\ntype T int\n", faceNames+1)}))
	require.Equal(t, []string{fmt.Sprintf("session: %d exported types, of %d", faceNames+1, faceTypes), fmt.Sprintf("session: %d exported names, of %d", faceNames+1, faceNames)}, over)
}

func TestNamesThatAreToGoAreCountedWhereTheyAreDeclared(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	text := "package starve\n\ntype Starve struct{ starve int }\n\nfunc f(starve int) { for starve := range 3 { starve := starve; _ = starve } }\n\n// starve\nvar starved = \"starve\"\n"
	over := countNames(&out, source(t, map[string]string{"a/a.go": text, "a/b.go": "package starve\n", "a/a_test.go": "package starve_test\n\nvar starve = 1\n"}))
	require.Equal(t, []string{"starve: declared 7 times, of 0"}, over)
}

func TestAKnownFailureHasATest(t *testing.T) {
	t.Parallel()
	files, err := read("../..")
	require.NoError(t, err)
	var out bytes.Buffer
	require.Empty(t, countFailures(&out, files))
	without := countFailures(&out, source(t, map[string]string{"a/a.go": "package a // B01\n", "a/a_test.go": "package a\n\n// B02 and\nfunc TestB03_B04_It() {}\n"}))
	require.Len(t, without, failures-len(inapplicable)-3)
	require.Equal(t, "B01: no test of this failure", without[0])
	require.Equal(t, "B05: no test of this failure", without[1])
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
