package session

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Ten tries, growing by half a second, as ZooKeeper's Java recipes have them.
func TestRetryGrowing(t *testing.T) {
	t.Parallel()
	p := RetryGrowing(9, 500*time.Millisecond)
	for try := 1; try <= 9; try++ {
		pause, again := p.next(try, time.Hour)
		require.True(t, again)
		require.Equal(t, time.Duration(try-1)*500*time.Millisecond, pause)
	}
	_, again := p.next(10, 0)
	require.False(t, again)
	pause, again := RetryGrowing(2, -time.Second).next(2, 0)
	require.True(t, again)
	require.Zero(t, pause)
	_, again = RetryGrowing(-1, time.Second).next(1, 0)
	require.False(t, again)
}
