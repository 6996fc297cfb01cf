package session

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// at is a moment at which both clocks show the same.
func at(d time.Duration) instant { return instant{mono: d, wall: time.Unix(0, 0).Add(d)} }

// jumped is a moment at which the wall clock has jumped.
func jumped(d, by time.Duration) instant { return instant{mono: d, wall: time.Unix(0, 0).Add(d + by)} }

func newTrust(timeout time.Duration, change func(*config)) *trust {
	cfg := config{timeout: timeout}
	if change != nil {
		change(&cfg)
	}
	t := &trust{vouch: new(atomic.Pointer[voucher])}
	t.begin(&cfg, timeout, at(0))
	return t
}

func TestCredit(t *testing.T) {
	t.Parallel()
	const T = 12 * time.Second
	for _, c := range []struct {
		name   string
		change func(*config)
		fresh  time.Duration // before requests have gone out steadily
		steady time.Duration
	}{
		{"tick unknown: half", nil, T/2 - T/6, T / 2},
		{"tick known", func(c *config) { c.tick = 2 * time.Second }, T - (T/6 + time.Second + T/12) - T/6, T - (T/6 + time.Second + T/12)},
		{"few ticks", func(c *config) { c.tick = T / 3 }, T/2 - T/6, T / 2},
		{"fewest ticks", func(c *config) { c.tick = T / 2 }, T/4 - T/6, T / 4},
		{"margin given", func(c *config) { c.margin = time.Second }, T - time.Second, T - time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tr := newTrust(T, c.change)
			require.True(t, tr.proved(1, at(time.Second), at(time.Second)))
			require.Equal(t, at(time.Second+c.fresh), tr.until)
			tr = newTrust(T, c.change)
			for sent := time.Duration(0); sent <= T; sent += T / 6 {
				tr.proved(1, at(sent), at(sent))
			}
			require.Equal(t, at(T+c.steady), tr.until)
		})
	}
}

func TestTrust(t *testing.T) {
	t.Parallel()
	const T = 10 * time.Second // credit: 8s
	type step struct {
		does   string
		sent   instant // of a proof, if one comes
		now    instant
		lapsed bool
		gained bool
		until  time.Duration // 0: none
	}
	none := instant{}
	for _, c := range []struct {
		name  string
		steps []step
	}{
		{"proofs prolong", []step{
			{"first", at(1), at(1), false, true, 8*time.Second + 1},
			{"second", at(2 * time.Second), at(3 * time.Second), false, false, 10 * time.Second},
			{"older one, late", at(time.Second), at(4 * time.Second), false, false, 10 * time.Second},
		}},
		{"the end, and back", []step{
			{"proof", at(0), at(1), false, true, 8 * time.Second},
			{"just before", none, at(8*time.Second - 1), false, false, 8 * time.Second},
			{"the instant", none, at(8 * time.Second), true, false, 8 * time.Second},
			{"once only", none, at(9 * time.Second), false, false, 8 * time.Second},
			{"a proof that comes too late", at(time.Second), at(9 * time.Second), false, false, 8 * time.Second},
			{"back", at(3 * time.Second), at(9 * time.Second), false, true, 11 * time.Second},
		}},
		{"an end that a proof finds", []step{
			{"proof", at(0), at(1), false, true, 8 * time.Second},
			{"the next, when it was over", at(7 * time.Second), at(9 * time.Second), true, true, 15 * time.Second},
		}},
		{"the machine slept: the wall clock is ahead", []step{
			{"proof", at(0), at(1), false, true, 8 * time.Second},
			{"sync out, then sleep, then the answer", at(time.Second), jumped(2*time.Second, time.Hour), true, false, 0},
			{"one from after", jumped(2*time.Second, time.Hour), jumped(3*time.Second, time.Hour), false, true, 10 * time.Second},
		}},
		{"the wall clock is set back", []step{
			{"proof", at(0), at(1), false, true, 8 * time.Second},
			{"jump", none, jumped(time.Second, -time.Hour), true, false, 0},
			{"one from before", at(time.Second / 2), jumped(time.Second, -time.Hour), false, false, 0},
		}},
		{"a small step of the wall clock is no jump", []step{
			{"proof", at(0), at(1), false, true, 8 * time.Second},
			{"step", none, jumped(time.Second, time.Second), false, false, 8 * time.Second},
			{"but the end comes by whichever clock is first", none, jumped(7*time.Second, time.Second), true, false, 8 * time.Second},
		}},
		{"jumps while nothing is trusted are of no interest", []step{
			{"jump", none, jumped(time.Second, time.Hour), false, false, 0},
			{"proof", jumped(time.Second, time.Hour), jumped(time.Second, time.Hour), false, true, 9 * time.Second},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tr := newTrust(T, func(c *config) { c.margin = 2 * time.Second })
			for _, s := range c.steps {
				require.Equal(t, s.lapsed, tr.check(s.now), s.does)
				if s.sent != none {
					require.Equal(t, s.gained, tr.proved(1, s.sent, s.now), s.does)
				}
				require.Equal(t, s.until, tr.until.mono, s.does)
				require.Equal(t, tr.stands, tr.vouch.Load().good(s.now), s.does)
			}
		})
	}
}

func TestVoucherNoticesAJumpBeforeAnybodyElse(t *testing.T) {
	t.Parallel()
	tr := newTrust(10*time.Second, nil)
	tr.proved(1, at(0), at(0))
	v := tr.vouch.Load()
	require.True(t, v.good(at(time.Second)))
	require.True(t, v.good(jumped(time.Second, time.Second)))
	require.False(t, v.good(jumped(time.Second, time.Second+1)))
	require.False(t, v.good(jumped(time.Second, -time.Second-1)))
	require.False(t, (*voucher)(nil).good(at(0)))
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
