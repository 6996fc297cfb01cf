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
		require.NoError(t, t.Server.Znodes(t).Create("/other/x", nil))
		golden(t, "barrier", each("barrier show /rounds\nbarrier lower /rounds -y\nbarrier show /gate\nbarrier lower /gate -y\nbarrier raise /gate\n"+
			"barrier show /gate\nbarrier lower /gate\nbarrier lower /gate -y\nbarrier show /gate -o json\n"+
			"barrier show /other\nbarrier lower /other -y\nbarrier show /")...)
	})
}
