package bench_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/zktest/ensemble"
)

// start runs a real server for a benchmark.
func start(b *testing.B) ([]string, *counter) {
	b.Helper()
	e := ensemble.Start(b, 1)
	return e.Servers(), &counter{e}
}

// counter asks the server what it has counted.
type counter struct{ *ensemble.Ensemble }

// cost is what a piece of work cost the server.
type cost struct{ requests, events int64 }

// during counts what the server receives and sends while f runs. Pings, and the syncs that keep up
// trust, are a handful a second.
func (c *counter) during(b *testing.B, f func()) cost {
	b.Helper()
	before, err := c.Stats(0)
	require.NoError(b, err)
	f()
	after, err := c.Stats(0)
	require.NoError(b, err)
	return cost{requests: after.Requests - before.Requests, events: after.WatchEvents - before.WatchEvents}
}
