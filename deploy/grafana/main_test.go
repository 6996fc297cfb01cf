package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// The files are those that the command writes.
func TestTheFilesAreCurrent(t *testing.T) {
	t.Parallel()
	all := dashboards()
	files, err := os.ReadDir(".")
	require.NoError(t, err)
	for _, file := range files {
		if text, made := all[file.Name()]; made {
			is, err := os.ReadFile(file.Name())
			require.NoError(t, err)
			require.Equal(t, string(text), string(is), "run: go run ./deploy/grafana")
			delete(all, file.Name())
		}
	}
	require.Empty(t, all, "run: go run ./deploy/grafana")
}
