package bench_test

// The servers that benchmarks run on, and what they count.

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/zktest/ensemble"
)

// start runs a real server for a benchmark.
func start(b *testing.B) ([]string, *ensemble.Ensemble) {
	b.Helper()
	e := ensemble.Start(b, 1)
	return e.Servers(), e
}

// cost is what a piece of work cost the servers.
type cost struct{ requests, events int64 }

// count is what all servers have counted.
func count(b *testing.B, e *ensemble.Ensemble) (all cost) {
	b.Helper()
	for i := range e.Servers() {
		s, err := e.Stats(i)
		require.NoError(b, err)
		all.requests += s.Requests
		all.events += s.WatchEvents
	}
	return all
}

// during counts what the servers receive and send while f runs. Pings, and the syncs that keep up
// trust, are a handful a second.
func during(b *testing.B, e *ensemble.Ensemble, f func()) cost {
	b.Helper()
	before := count(b, e)
	f()
	after := count(b, e)
	return cost{requests: after.requests - before.requests, events: after.events - before.events}
}
