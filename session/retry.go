package session

import (
	"math/rand/v2"
	"time"
)

// RetryPolicy governs how often, and after what pauses, the session repeats what may be repeated
// without harm: a read of the application whose answer was lost with the connection, or that an
// overloaded server did not carry out; and likewise [Session.EnsurePath], [Session.DeleteAll],
// [Session.Sync] and [Session.SyncQuorum]. Each repetition waits for a connection first, however
// long that takes; the context of the call bounds all of it. When the policy gives up, the read
// fails with [ErrSuspended]; with [ErrHungUp] beside it if servers hung up at it eight times and
// answered others.
//
// It does not govern reconnection, which goes on for as long as the session lives; nor writes,
// which are sent once; nor what recipes do, which goes on until the intent is withdrawn. The zero
// value repeats nothing.
type RetryPolicy struct {
	times   int           // at most; -1: for ever
	elapsed time.Duration // at most; 0: for ever
	growing bool          // pauses grow by step; else they are those of RetryTimes
	step    time.Duration
}

// RetryTimes repeats n times at most, with pauses that grow from 10 ms to 5 s. With n = 0 nothing
// is repeated.
func RetryTimes(n int) RetryPolicy { return RetryPolicy{times: max(n, 0)} }

// RetryElapsed repeats until this long after the first try, with the pauses of [RetryTimes].
func RetryElapsed(d time.Duration) RetryPolicy {
	if d <= 0 {
		return RetryPolicy{}
	}
	return RetryPolicy{times: -1, elapsed: d}
}

// RetryForever repeats until the context of the call ends, with the pauses of [RetryTimes].
func RetryForever() RetryPolicy { return RetryPolicy{times: -1} }

// RetryGrowing repeats n times at most: at once, and then after pauses of step, twice step, and so
// on. With n = 9 and half a second it is the policy of ZooKeeper's Java recipes: ten tries.
func RetryGrowing(n int, step time.Duration) RetryPolicy {
	return RetryPolicy{times: max(n, 0), growing: true, step: max(step, 0)}
}

// defaultRetries is bounded: with its pauses, about twenty seconds beside the waits for a
// connection.
const defaultRetries = 12

// next is the pause before repetition number try (from 1 on), begun after so long; false if there
// is to be none.
func (p RetryPolicy) next(try int, since time.Duration) (time.Duration, bool) {
	if p.times >= 0 && try > p.times {
		return 0, false
	}
	pause := backoff(try)
	if p.growing {
		pause = time.Duration(try-1) * p.step
	}
	if p.elapsed > 0 && since+pause > p.elapsed {
		return 0, false
	}
	return pause, true
}

const (
	shortestPause = 10 * time.Millisecond
	longestPause  = 5 * time.Second
	lasting       = time.Second // what looked like a success, and is over sooner, may be over so again
)

// backoff is the pause before a repetition: exponential, half of it jitter, so that those that
// failed together do not come back together.
func backoff(try int) time.Duration {
	pause := min(shortestPause<<min(max(try-1, 0), 16), longestPause)
	return pause/2 + rand.N(pause/2+1)
}
