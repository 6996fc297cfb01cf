package bench_test

// Shared locks, and what a turn costs the servers.

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// BenchmarkShared is a shared lock under eight readers and two writers, a session each, who take
// and release it as fast as they can, on one server and on three. One cycle is five turns of each
// of the ten.
func BenchmarkShared(b *testing.B) {
	const readers, writers, turns = 8, 2, 5
	for _, n := range []int{1, 3} {
		b.Run(fmt.Sprint("servers=", n), func(b *testing.B) {
			e := ensemble.Start(b, n)
			var parties []*lock.Lock
			for i := range readers + writers {
				construct := lock.NewRead
				if i < writers {
					construct = lock.NewWrite
				}
				l, err := construct(open(b, slices.Concat(e.Servers()[i%n:], e.Servers()[:i%n])), pathFor(b, "troupe"))
				require.NoError(b, err)
				parties = append(parties, l)
			}
			compare(b, e, share{"turn", (readers + writers) * turns, 20}, &form{name: "troupe", cycle: timed(func() {
				var all sync.WaitGroup
				for _, l := range parties {
					all.Go(func() { // ends with its turns
						for range turns {
							turn(b, l)
						}
					})
				}
				all.Wait()
			})})
		})
	}
}

// turn takes and releases a lock.
func turn(b *testing.B, l *lock.Lock) {
	g, err := l.Lock(b.Context())
	if err == nil {
		err = g.Release(b.Context())
	}
	if err != nil {
		b.Error(err)
	}
}
