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

func TestRetryPolicies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		policy RetryPolicy
		try    int
		since  time.Duration
		again  bool
	}{
		{"zero value", RetryPolicy{}, 1, 0, false},
		{"never", RetryTimes(0), 1, 0, false},
		{"less than never", RetryTimes(-1), 1, 0, false},
		{"the last of three", RetryTimes(3), 3, time.Hour, true},
		{"one more", RetryTimes(3), 4, 0, false},
		{"in time", RetryElapsed(time.Minute), 100, 50 * time.Second, true},
		{"too late", RetryElapsed(time.Minute), 1, time.Minute, false},
		{"no time", RetryElapsed(0), 1, 0, false},
		{"for ever", RetryForever(), 1 << 40, 1 << 60, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			pause, again := c.policy.next(c.try, c.since)
			require.Equal(t, c.again, again)
			if again {
				require.Greater(t, pause, 4*time.Millisecond)
				require.LessOrEqual(t, pause, longestPause)
			}
		})
	}
}
