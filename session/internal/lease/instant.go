package lease

import "time"

// Instant is a moment by both clocks of the machine. The monotonic one stands still while the
// machine sleeps; the wall clock can be set.
type Instant struct {
	Mono time.Duration // since some moment of the process
	Wall time.Time
}

// Add is the moment that is later by d by both clocks.
func (i Instant) Add(d time.Duration) Instant { return Instant{i.Mono + d, i.Wall.Add(d)} }

// Reached tells whether either clock has come to the other moment.
func (i Instant) Reached(o Instant) bool { return i.Mono >= o.Mono || !i.Wall.Before(o.Wall) }

// Left is how long it takes until either clock reaches the other moment.
func (i Instant) Left(o Instant) time.Duration { return min(o.Mono-i.Mono, o.Wall.Sub(i.Wall)) }

// Since is how long ago the other moment was, by the clock that has gone further.
func (i Instant) Since(o Instant) time.Duration { return max(i.Mono-o.Mono, i.Wall.Sub(o.Wall)) }

// skew is what the clocks differ by. It changes when one of them jumps.
func (i Instant) skew() time.Duration { return time.Duration(i.Wall.UnixNano()) - i.Mono }
