package zkconn

import (
	"bytes"
	"log/slog"
	"os"
	"runtime/debug"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheTestedLibraryIsThatOfTheModule(t *testing.T) {
	t.Parallel()
	mod, err := os.ReadFile("../../../go.mod")
	require.NoError(t, err)
	require.Contains(t, string(mod), libraryPath+" "+libraryVersion+"\n")
}

func TestWhichLibraryAProgramHas(t *testing.T) {
	t.Parallel()
	with := func(version string, replaced *debug.Module) *debug.BuildInfo {
		return &debug.BuildInfo{Deps: []*debug.Module{
			{Path: "example.com/other", Version: "v9.9.9"}, {Path: libraryPath, Version: version, Replace: replaced},
		}}
	}
	require.Empty(t, libraryOf(&debug.BuildInfo{}))
	require.Equal(t, "v1.0.5", libraryOf(with("v1.0.5", nil)))
	require.Equal(t, "example.com/fork v1.0.4", libraryOf(with("v1.0.4", &debug.Module{Path: "example.com/fork", Version: "v1.0.4"})))
}

// This program is built with the library that is tested, if it tells at all.
func TestTheTestedLibraryIsNotWarnedOf(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	warnOfLibrary(slog.New(slog.NewTextHandler(&log, nil)), &sync.Once{})
	require.Empty(t, log.String())
}
