package lease

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A connection may become slow, for good or now and then: with the network, the server, or this
// machine. That does not keep the lease away.
func TestTheLeaseComesBackOnAConnectionThatBecameSlow(t *testing.T) {
	t.Parallel()
	const T = 3 * time.Second
	ms := time.Millisecond
	for _, c := range []struct {
		name        string
		least, most time.Duration // a trip takes, once the connection is slow
	}{
		{"slow", 80 * ms, 80 * ms},
		{"slower", 200 * ms, 200 * ms},
		{"now and then", ms, 150 * ms},
		{"very unevenly", ms, 300 * ms},
	} {
		for _, tick := range []time.Duration{0, T / 10, T / 4} {
			t.Run(c.name+", tick "+tick.String(), func(t *testing.T) {
				t.Parallel()
				l := newLease(T, func(c *Config) { c.Tick = tick })
				rng := rand.New(rand.NewPCG(1, 2))
				now, lapses := time.Duration(0), 0
				var lapsed time.Duration
				for now < 100*T {
					trip := ms
					if now > 10*T {
						trip = c.least + time.Duration(rng.Int64N(int64(c.most-c.least+1)))
					}
					sent := at(now)
					l.Check(sent)
					l.Asked(sent)
					back := now + trip
					if end := l.Until().Mono; l.Check(at(back)) {
						lapses++
						lapsed = end
					}
					write := !l.SyncProves(sent)
					l.Proved(1, sent, at(back), write)
					if now > 12*T && l.Stands() && lapsed > 0 {
						require.Less(t, back-lapsed, T/2, "without a lease")
						lapsed = 0
					}
					now = max(back, l.NextSync(at(back)).Mono)
				}
				require.True(t, l.Stands())
				require.LessOrEqual(t, lapses, 1, "ends of the lease")
			})
		}
	}
}
