package main

// troupe barrier: it is shown, raised and lowered; a double one is refused.

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/test/bubble"
)

func TestBarrierCommands(t *testing.T) {
	t.Parallel()
	bubble.Run(t, func(t *bubble.World) {
		waiting(t, "/rounds", 2, "ann", "bob")
		require.NoError(t, t.Server.Create("/other/x", nil))
		golden(t, "barrier",
			[]string{"barrier", "show", "/rounds"}, []string{"barrier", "lower", "/rounds", "-y"},
			[]string{"barrier", "show", "/gate"}, []string{"barrier", "lower", "/gate", "-y"}, []string{"barrier", "raise", "/gate"},
			[]string{"barrier", "show", "/gate"}, []string{"barrier", "lower", "/gate"}, []string{"barrier", "lower", "/gate", "-y"},
			[]string{"barrier", "show", "/gate", "-o", "json"},
			[]string{"barrier", "show", "/other"}, []string{"barrier", "lower", "/other", "-y"}, []string{"barrier", "show", "/"})
	})
}
