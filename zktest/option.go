package zktest

import (
	"time"

	"github.com/troupe-go/troupe/internal/zkserver"
)

// Option configures a server.
type Option func(*zkserver.Config)

// WithTick sets the tick of the expiry clock, 2 seconds by default. Sessions expire at ticks, counted from the server's start: one that was heard of
// last at t expires at the first tick later than t plus its timeout.
func WithTick(d time.Duration) Option { return func(c *zkserver.Config) { c.Tick = d } }

// WithSessionTimeouts sets the bounds of what clients can negotiate; 2 and 20 ticks by default.
func WithSessionTimeouts(least, most time.Duration) Option {
	return func(c *zkserver.Config) { c.MinTimeout, c.MaxTimeout = least, most }
}

// WithServers makes n servers that share one tree.
func WithServers(n int) Option { return func(c *zkserver.Config) { c.Fronts = n } }

// WithMaxPacket sets the largest request in bytes (jute.maxbuffer); a larger one ends the connection.
func WithMaxPacket(bytes int) Option { return func(c *zkserver.Config) { c.MaxPacket = bytes } }
