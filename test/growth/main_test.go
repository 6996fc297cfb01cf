//go:build unix

package main

// That every sweep runs, at small sizes, and is told and drawn.

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/tier"
)

func TestAShortRunTellsAndDrawsEverySweep(t *testing.T) {
	tier.Real(t)
	file := filepath.Join(t.TempDir(), "tables.md")
	for _, s := range sweeps {
		s.run(file, 4)
		tables, _ := os.ReadFile(file)
		picture, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "growth-"+s.name+".svg"))
		require.Regexp(t, `<!-- make growth: `+s.name+` -->\n(?s:.*)\n\| [\d.]+ \| [\d.]+ \([\d.]+\) `, string(tables))
		require.Regexp(t, `^<svg [^N]* points="\d[^N]*</svg>\n$`, string(picture), "no NaN")
	}
}
