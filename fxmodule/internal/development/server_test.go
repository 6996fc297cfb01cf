package development_test

// This test binary does not import package embedded.

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/fxmodule"
	"github.com/troupe-go/troupe/internal/test/tier"
)

// The error of Config.Embedded names the import that is missing.
func TestWithoutTheEmbeddedServer(t *testing.T) {
	t.Parallel()
	require.ErrorContains(t, fxmodule.Config{Embedded: true}.Validate(), "Config.Embedded: the program does not import github.com/troupe-go/troupe/fxmodule/embedded")
}

// A program that only leads is not linked with what it does not use.
func TestAProgramHasOnlyWhatItUses(t *testing.T) {
	tier.Real(t)
	program := filepath.Join(t.TempDir(), "leader")
	require.NoError(t, os.WriteFile(program+".go", []byte(leader), 0o600))
	built, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, program+".go").CombinedOutput()
	require.NoError(t, err, string(built))
	symbols, err := exec.CommandContext(t.Context(), "go", "tool", "nm", program).Output()
	require.NoError(t, err)
	require.Contains(t, string(symbols), "troupe/recipes/election.")
	unused := regexp.MustCompile(`(?m)^.* \S*troupe/(internal/zkserver|recipes/(queue|twopc|barrier))[./].*$`)
	require.Empty(t, unused.FindAllString(string(symbols), -1))
}

const leader = `package main

import (
	"context"

	"go.uber.org/fx"

	"github.com/troupe-go/troupe/fxmodule"
	"github.com/troupe-go/troupe/recipes/election"
)

func main() {
	fx.New(
		fxmodule.Module,
		fx.Supply(fxmodule.Default("localhost:2181")),
		fxmodule.Election("e", "/e"),
		fxmodule.RunLeader("e", func(ctx context.Context, _ *election.Term) error { <-ctx.Done(); return nil }),
	).Run()
}
`
