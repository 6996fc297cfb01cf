package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A change of the code must not leave a mutant without its place: make mutants is run too rarely to
// be the first to say so.
func TestEachMutantHasItsPlace(t *testing.T) {
	t.Chdir(filepath.Join("..", ".."))
	for _, m := range mutants {
		require.NoError(t, m.overlay(filepath.Join(t.TempDir(), "overlay.json")), m.name)
	}
}

func TestAnArgumentThatChoosesNothing(t *testing.T) {
	require.NoError(t, known(nil))
	require.NoError(t, known([]string{mutants[0].name}))
	require.ErrorContains(t, known([]string{mutants[0].name, "typo"}), `"typo"`)
}
