package bench_test

// What all benchmarks use: a real server, sessions, and the comparison of several ways to do the
// same by their time and by what the server counted.

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// form is one way to do a cycle. It says how long the part took that is measured.
type form struct {
	name  string
	cycle func() time.Duration
	took  time.Duration
}

// timed measures all of a cycle.
func timed(cycle func()) func() time.Duration {
	return func() time.Duration {
		began := time.Now()
		cycle()
		return time.Since(began)
	}
}

// share is what a figure is divided by: what a cycle has, how many of them, and how many cycles the
// server counts.
type share struct {
	of     string
	units  int
	cycles int
}

// cost is what a piece of work cost the servers.
type cost struct{ requests, events float64 }

// compare runs the forms in turn. It reports each one's time, what the servers counted, and its
// time beside that of the first. It returns what the first one cost.
func compare(b *testing.B, e *ensemble.Ensemble, per share, forms ...*form) cost {
	b.Helper()
	for _, f := range forms {
		f.cycle() // the first one makes parents and buffers
	}
	n := 0
	for b.Loop() {
		for _, f := range forms {
			f.took += f.cycle()
		}
		n++
	}
	b.StopTimer()
	var costs []cost
	for i, f := range forms {
		before := count(b, e)
		for range per.cycles {
			f.cycle()
		}
		after, units := count(b, e), float64(per.cycles*per.units)
		costs = append(costs, cost{(after.requests - before.requests) / units, (after.events - before.events) / units})
		b.ReportMetric(float64(f.took.Nanoseconds())/float64(n*per.units), f.name+"-ns/"+per.of)
		b.ReportMetric(costs[i].requests, f.name+"-requests/"+per.of)
		b.ReportMetric(costs[i].events, f.name+"-events/"+per.of)
		if i > 0 {
			b.ReportMetric(float64(f.took)/float64(forms[0].took), f.name+"/"+forms[0].name)
		}
	}
	return costs[0]
}

// count is what all servers have counted. Pings, and the syncs that keep up trust, are a handful a
// second.
func count(b *testing.B, e *ensemble.Ensemble) (all cost) {
	b.Helper()
	for i := range e.Servers() {
		s, err := e.Stats(i)
		require.NoError(b, err)
		all.requests += float64(s.Requests)
		all.events += float64(s.WatchEvents)
	}
	return all
}

// open is a session that fails the benchmark if it does not end properly.
func open(b *testing.B, servers []string) *session.Session {
	b.Helper()
	s, err := session.Open(b.Context(), servers)
	require.NoError(b, err)
	b.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		require.NoError(b, s.Close(ctx))
	})
	return s
}

// pathFor is a path that no other benchmark, and no other form, uses.
func pathFor(b *testing.B, form string) string {
	return fmt.Sprintf("/bench-%s-%s-%d", strings.NewReplacer("/", "-", "=", "").Replace(b.Name()), form, b.N)
}
