package zktest

import (
	"log/slog"
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

// WithServers makes n servers that share one tree. One of them, at first the last, says that it leads; the others follow.
func WithServers(n int) Option { return func(c *zkserver.Config) { c.Fronts = n } }

// WithMaxPacket sets the largest request in bytes (jute.maxbuffer); a larger one ends the connection.
func WithMaxPacket(bytes int) Option { return func(c *zkserver.Config) { c.MaxPacket = bytes } }

// WithoutTTL refuses TTL znodes, as a real server does unless zookeeper.extendedTypesEnabled is set.
func WithoutTTL() Option { return func(c *zkserver.Config) { c.NoTTL = true } }

// WithContainerCheck sets how often empty containers and expired TTL znodes are looked for, a minute by default: at whole multiples of d since the
// server's start.
func WithContainerCheck(d time.Duration) Option {
	return func(c *zkserver.Config) { c.ContainerCheck = d }
}

// WithSuper names the user who may do everything, by the password that he authenticates with under the digest scheme as "super:password".
func WithSuper(password string) Option {
	return func(c *zkserver.Config) { c.Super = zkserver.Digest("super:" + password) }
}

// WithTree has the server begin with the znodes that a text in JSON or YAML describes; [Server.Load] says how.
func WithTree(text string) Option { return func(c *zkserver.Config) { c.Tree = []byte(text) } }

// WithJournal sets how many requests the journal keeps, 65,536 by default; 0 turns it off.
func WithJournal(requests int) Option { return func(c *zkserver.Config) { c.Journal = requests } }

// WithLogger has the server log sessions: those that expire at Info, those that are opened or closed at Debug. By default it is silent.
func WithLogger(l *slog.Logger) Option { return func(c *zkserver.Config) { c.Logger = l } }
