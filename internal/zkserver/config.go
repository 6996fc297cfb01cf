package zkserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"net"
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/seeded"
)

// Config says how a server behaves. The zero value is a single server with the usual limits. It
// is more lenient than a ZooKeeper that nobody has configured: it makes TTL znodes, answers all
// four-letter words, and takes any number of connections.
type Config struct {
	Version        string        // of ZooKeeper whose behaviour the server has, one of Versions; default the newest
	Tick           time.Duration // of the expiry clock; default 2s
	MinTimeout     time.Duration // of sessions; default 2 ticks
	MaxTimeout     time.Duration // default 20 ticks
	MaxPacket      int           // jute.maxbuffer; default 1 MB
	Fronts         int           // servers that share the tree; default 1
	Addresses      []string      // where the servers listen from the beginning, by number; those without one listen when Listen is called
	Election       time.Duration // how long the fronts take to elect a leader; 0: no time at all
	ContainerCheck time.Duration // how often empty containers and expired TTL znodes are looked for; default 1m
	NoTTL          bool          // refuse TTL znodes, as a server without zookeeper.extendedTypesEnabled does
	Words          []string      // four-letter words that are answered (4lw.commands.whitelist); nil: all
	Super          string        // digest ("super:" and 27 more characters) of the user who may do everything; none by default
	Tree           io.Reader     // the znodes to begin with, in the form of package treefile
	FirstZxid      int64         // the zxid that the first transaction follows, at least
	Journal        int           // how many requests the journal keeps; 0: none
	JournalBytes   int           // how much memory they may take; default 64 MB
	MaxConnections int           // of one client address to one front (maxClientCnxns); 0: any number
	Backlog        int           // bytes of answers that wait for a client that doesn't read, before it is dropped; default 64 MB
	Logger         *slog.Logger  // default: discards

	Listen func(ctx context.Context, network, address string) (net.Listener, error) // opens sockets; default the network's
	Seed   uint64                                                                   // of random moments within a tick: when a front tells the leader of its sessions, and when one learns that it was deposed; 0: drawn at random
	Replay *seeded.Sessions                                                         // those that are dialed in memory draw from it, and each frame arrives at an instant of its own; nil: none does
}

// longestTimeout is the longest session timeout that a client can be told.
const longestTimeout = math.MaxInt32 * time.Millisecond

// complete fills in the defaults, and checks the whole.
func (c *Config) complete() error {
	c.Tick = cmp.Or(c.Tick, 2*time.Second)
	c.MinTimeout = cmp.Or(c.MinTimeout, 2*c.Tick)
	c.MaxTimeout = cmp.Or(c.MaxTimeout, max(min(20*c.Tick, longestTimeout), c.MinTimeout))
	c.MaxPacket = cmp.Or(c.MaxPacket, jute.DefaultMaxPacket)
	c.Fronts = cmp.Or(c.Fronts, 1)
	c.ContainerCheck = cmp.Or(c.ContainerCheck, time.Minute)
	c.JournalBytes = cmp.Or(c.JournalBytes, 64<<20)
	c.Backlog = cmp.Or(c.Backlog, 64<<20)
	for c.Seed == 0 {
		c.Seed = rand.Uint64()
	}
	if c.Listen == nil {
		c.Listen = new(net.ListenConfig).Listen
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c.check()
}

func (c *Config) check() error {
	switch {
	case c.Tick < time.Millisecond:
		return fmt.Errorf("tick %v is shorter than a millisecond", c.Tick)
	case c.MinTimeout < time.Millisecond || c.MaxTimeout < c.MinTimeout || c.MaxTimeout > longestTimeout:
		return fmt.Errorf("session timeouts from %v to %v", c.MinTimeout, c.MaxTimeout)
	case c.MaxPacket < 64:
		return fmt.Errorf("packets of at most %d bytes", c.MaxPacket)
	case c.Fronts < 1 || c.Fronts > 254: // each has an address in 192.0.2.0/24: see newFront
		return fmt.Errorf("%d servers", c.Fronts)
	case c.Election < 0:
		return fmt.Errorf("elections of %v", c.Election)
	case c.ContainerCheck < 0 || c.Journal < 0 || c.JournalBytes < 0 || c.Backlog < 0 || c.MaxConnections < 0:
		return errors.New("a negative limit")
	case len(c.Addresses) > c.Fronts:
		return fmt.Errorf("%d addresses for %d servers", len(c.Addresses), c.Fronts)
	case slices.ContainsFunc(c.Words, func(w string) bool { return words[w] == nil }):
		return fmt.Errorf("four-letter words %q: not all are known", c.Words)
	case c.FirstZxid < 0:
		return fmt.Errorf("first zxid %d", c.FirstZxid)
	}
	return nil
}
