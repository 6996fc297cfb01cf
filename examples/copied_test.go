package examples_test

// Every example can be taken away: its folder alone, in a module of somebody else's, is vetted and
// passes its tests.

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/tier"
)

func TestEveryExampleCanBeCopied(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	mains, err := filepath.Glob("*/main.go")
	require.NoError(t, err)
	for _, file := range mains {
		name := filepath.Dir(file)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := elsewhere(t)
			require.NoError(t, os.CopyFS(filepath.Join(dir, name), os.DirFS(name)))
			for _, what := range []string{"vet", "test"} {
				cmd := exec.CommandContext(t.Context(), "go", what, "./...")
				cmd.Dir = dir
				cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod -trimpath", "GOPROXY=off", "GOWORK=off") // what is here already has to do
				out, err := cmd.CombinedOutput()
				require.NoError(t, err, "go %s: %s", what, out)
			}
		})
	}
}

// elsewhere is a module of somebody else's that requires this one, as it is here, and what this one
// requires.
func elsewhere(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	text, err := os.ReadFile("../go.mod")
	require.NoError(t, err)
	const ours = "github.com/troupe-go/troupe"
	mod := strings.Replace(string(text), "module "+ours+"\n", "module example.org/copied\n", 1)
	mod += fmt.Sprintf("\nrequire %s v0.0.0\n\nreplace %[1]s => %q\n", ours, root)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte(mod), 0o600))
	sums, err := os.ReadFile("../go.sum")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o600))
	return dir
}
