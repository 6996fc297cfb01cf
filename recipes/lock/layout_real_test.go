package lock_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/troupe-go/troupe/internal/bubble"
	"github.com/troupe-go/troupe/internal/tier"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/zktest/ensemble"
)

// One line of all layouts on three real servers: in order, one at a time, and nothing is left.
func TestLayoutsOnRealServers(t *testing.T) {
	tier.Real(t)
	t.Parallel()
	e := ensemble.Start(t, 3)
	var locks []*lock.Lock
	for i, layout := range []lock.Layout{lock.Kazoo, lock.JavaWriteLock, lock.GoZooKeeper, lock.Curator, lock.Troupe} {
		s := bubble.Open(t, e.Servers()[i%3:i%3+1])
		l, err := lock.New(s, path, lock.WithLayout(layout))
		require.NoError(t, err)
		l.Acquire()
		inLine(t, l)
		locks = append(locks, l)
	}
	var last int64
	for i, l := range locks {
		g := soon(t, l.Acquired(), "in order")
		require.Greater(t, g.Token(), last)
		last = g.Token()
		if i+1 < len(locks) {
			_, err := locks[i+1].TryLock(t.Context())
			require.ErrorIs(t, err, lock.ErrHeld)
		}
		release(t, l)
	}
	line, err := locks[0].Contenders(t.Context())
	require.NoError(t, err)
	require.Empty(t, line)
}
