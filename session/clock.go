package session

import (
	"sync/atomic"
	"time"

	"github.com/troupe-go/troupe/session/internal/lease"
)

// clock reads both clocks.
type clock struct {
	base     time.Time
	wallSlip atomic.Int64 // tests let the clocks jump with these
	monoSlip atomic.Int64
}

func (c *clock) now() lease.Instant { return c.at(time.Now()) }

// at is the moment of a time that was taken with [time.Now].
func (c *clock) at(t time.Time) lease.Instant {
	return lease.Instant{
		Mono: t.Sub(c.base) + time.Duration(c.monoSlip.Load()),
		Wall: t.Round(0).Add(time.Duration(c.wallSlip.Load())),
	}
}
