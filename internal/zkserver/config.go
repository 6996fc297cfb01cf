package zkserver

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
)

// Config says how a server behaves. The zero value is a single server with ZooKeeper's defaults.
type Config struct {
	Tick           time.Duration // of the expiry clock; default 2s
	MinTimeout     time.Duration // of sessions; default 2 ticks
	MaxTimeout     time.Duration // default 20 ticks
	MaxPacket      int           // jute.maxbuffer; default 1 MB
	Fronts         int           // servers that share the tree; default 1
	ContainerCheck time.Duration // how often empty containers and expired TTL znodes are looked for; default 1m
	NoTTL          bool          // refuse TTL znodes, as a server without zookeeper.extendedTypesEnabled does
	Super          string        // digest ("super:" and 27 more characters) of the user who may do everything; none by default
	Tree           []byte        // znodes to begin with, as JSON or YAML; see Server.Load
	FirstZxid      int64         // the zxid that the first transaction follows
	Journal        int           // how many requests the journal keeps; 0: none
	Backlog        int           // bytes of answers that wait for a client that doesn't read, before it is dropped; default 64 MB
	Logger         *slog.Logger  // default: discards
}

func (c *Config) complete() error {
	if c.Tick == 0 {
		c.Tick = 2 * time.Second
	}
	if c.MinTimeout == 0 {
		c.MinTimeout = 2 * c.Tick
	}
	if c.MaxTimeout == 0 {
		c.MaxTimeout = max(20*c.Tick, c.MinTimeout)
	}
	if c.MaxPacket == 0 {
		c.MaxPacket = jute.DefaultMaxPacket
	}
	if c.Fronts == 0 {
		c.Fronts = 1
	}
	if c.ContainerCheck == 0 {
		c.ContainerCheck = time.Minute
	}
	if c.Backlog == 0 {
		c.Backlog = 64 << 20
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c.check()
}

func (c *Config) check() error {
	switch {
	case c.Tick < time.Millisecond:
		return fmt.Errorf("zkserver: tick %v is shorter than a millisecond", c.Tick)
	case c.MinTimeout < 0 || c.MaxTimeout < c.MinTimeout:
		return fmt.Errorf("zkserver: session timeouts from %v to %v", c.MinTimeout, c.MaxTimeout)
	case c.MaxPacket < 64:
		return fmt.Errorf("zkserver: packets of at most %d bytes", c.MaxPacket)
	case c.Fronts < 1 || c.Fronts > 254:
		return fmt.Errorf("zkserver: %d servers", c.Fronts)
	case c.ContainerCheck < 0 || c.Journal < 0 || c.Backlog < 0:
		return errors.New("zkserver: a negative limit")
	case c.FirstZxid < 0:
		return fmt.Errorf("zkserver: first zxid %d", c.FirstZxid)
	}
	return nil
}
