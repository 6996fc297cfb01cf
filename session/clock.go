package session

import (
	"sync/atomic"
	"time"
)

// instant is a moment by both clocks of the machine. The monotonic one stands still while the
// machine sleeps; the wall clock can be set.
type instant struct {
	mono time.Duration // since the session was made
	wall time.Time
}

func (i instant) add(d time.Duration) instant { return instant{i.mono + d, i.wall.Add(d)} }

// reached: either clock has come to the other moment.
func (i instant) reached(o instant) bool { return i.mono >= o.mono || !i.wall.Before(o.wall) }

// left is how long it takes until either clock reaches the other moment.
func (i instant) left(o instant) time.Duration { return min(o.mono-i.mono, o.wall.Sub(i.wall)) }

// skew is what the clocks differ by. It changes when one of them jumps.
func (i instant) skew() time.Duration { return time.Duration(i.wall.UnixNano()) - i.mono }

// clock reads both clocks.
type clock struct {
	base     time.Time
	wallSlip atomic.Int64 // tests let the clocks jump with these
	monoSlip atomic.Int64
}

func (c *clock) now() instant { return c.at(time.Now()) }

// at is the moment of a time that was taken with [time.Now].
func (c *clock) at(t time.Time) instant {
	return instant{
		mono: t.Sub(c.base) + time.Duration(c.monoSlip.Load()),
		wall: t.Round(0).Add(time.Duration(c.wallSlip.Load())),
	}
}
