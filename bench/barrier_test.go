package bench_test

// The double barrier, and what a round of it costs the servers.

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/barrier"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// BenchmarkDoubleBarrier is a whole round of 64 parties, each with a session of its own: all enter,
// all leave. What the servers count for each party and round includes the pings and syncs of 64
// sessions.
func BenchmarkDoubleBarrier(b *testing.B) {
	const parties = 64
	for _, n := range []int{1, 3} {
		b.Run(fmt.Sprint("servers=", n), func(b *testing.B) {
			e := ensemble.Start(b, n)
			doubles := make([]*barrier.Double, parties)
			for i := range doubles {
				d, err := barrier.NewDouble(open(b, e.Servers()), pathFor(b, "troupe"), parties, barrier.WithID(fmt.Sprint("p", i)))
				require.NoError(b, err)
				doubles[i] = d
			}
			counted := compare(b, e, share{"party", parties, 10}, &form{name: "troupe", cycle: timed(func() { round(b, doubles) })})
			require.LessOrEqual(b, counted.requests, 7.0, "requests for each party and round")
			require.LessOrEqual(b, counted.events, 3.0, "watch events for each party and round")
		})
	}
}

// round lets all parties enter and leave at once.
func round(b *testing.B, doubles []*barrier.Double) {
	var all sync.WaitGroup
	for _, d := range doubles {
		all.Go(func() { // ends with its passage
			p, err := d.Enter(b.Context())
			if err == nil {
				err = p.Leave(b.Context())
			}
			if err != nil {
				b.Error(err)
			}
		})
	}
	all.Wait()
}
