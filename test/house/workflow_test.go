package main

// What the workflows name: releases of Go, and actions by what cannot be moved.

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func text(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", name))
	require.NoError(t, err)
	return string(text)
}

// The modules name the older of the two releases of Go that the gate runs with, without a patch:
// see docs/decisions/0049-what-a-lock-links.md.
func TestTheGateRunsWithTheReleaseOfTheModuleAndTheNext(t *testing.T) {
	t.Parallel()
	jobs := regexp.MustCompile(`(?m)^ +go: \["1\.(\d+)", "1\.(\d+)"\]`).FindStringSubmatch(text(t, ".github/workflows/ci.yml"))
	require.Len(t, jobs, 3)
	older, err := strconv.Atoi(jobs[1])
	require.NoError(t, err)
	require.Equal(t, strconv.Itoa(older+1), jobs[2])
	for _, name := range []string{"go.mod", "tools/go.mod", "tools/api/go.mod", "test/deploy/go.mod"} {
		require.Regexp(t, `(?m)^go 1\.`+jobs[1]+`\.0$`, text(t, name), name)
		require.NotRegexp(t, `(?m)^toolchain `, text(t, name), name)
	}
	require.Contains(t, text(t, "CONTRIBUTING.md"), "Go 1."+jobs[1]+" or 1."+jobs[2])
}

// A tag can be moved, a commit cannot.
func TestActionsArePinnedByCommit(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("../../.github/workflows/*.yml")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		for _, uses := range regexp.MustCompile(`(?m)uses: (.*)$`).FindAllStringSubmatch(text(t, ".github/workflows/"+filepath.Base(name)), -1) {
			require.Regexp(t, `^\S+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`, uses[1], name)
		}
	}
}
