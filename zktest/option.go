package zktest

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/troupe-go/troupe/internal/seeded"
	"github.com/troupe-go/troupe/internal/zkserver"
)

// Option configures a server. [New] reports one that makes no sense.
type Option func(*config) error

type config = zkserver.Config

func set(to func(*config)) Option { return func(c *config) error { to(c); return nil } }

// atLeast refuses a value that makes no sense, or would be taken for none, which means the default.
func atLeast[T int | time.Duration](least T, name string, v T, to func(*config)) Option {
	if v < least {
		return func(*config) error { return fmt.Errorf("%s(%v): less than %v", name, v, least) }
	}
	return set(to)
}

// WithVersion sets the version of ZooKeeper that the server emulates: "3.8.0", "3.8.4", "3.9.2" or
// "3.9.6", the newest by default. [Versions] lists them; the package documentation describes the
// differences. [New] refuses other versions. The environment variable ZKTEST_VERSION sets the
// version of all servers without this option, so that a whole suite runs as if on that version.
func WithVersion(version string) Option { return set(func(c *config) { c.Version = version }) }

// Versions are the versions that [WithVersion] accepts, oldest first.
func Versions() []string { return zkserver.Versions() }

// WithTick sets the tick of the expiry clock, 2 seconds by default. Sessions expire at ticks,
// counted from the server's start: a session that was last heard of at t expires at the first tick
// after t plus its timeout.
func WithTick(d time.Duration) Option {
	return atLeast(time.Millisecond, "WithTick", d, func(c *config) { c.Tick = d })
}

// WithSessionTimeouts sets the limits of the session timeouts that clients can negotiate; 2 and 20
// ticks by default.
func WithSessionTimeouts(least, most time.Duration) Option {
	return atLeast(time.Millisecond, "WithSessionTimeouts", min(least, most), func(c *config) { c.MinTimeout, c.MaxTimeout = least, most })
}

// WithServers creates n servers that share one tree. One of them, at first the last, reports itself
// as the leader; the others follow.
func WithServers(n int) Option { return atLeast(1, "WithServers", n, func(c *config) { c.Fronts = n }) }

// WithAddress makes the server listen at a fixed TCP address from the start, such as
// "127.0.0.1:2181", for programs whose address can't be configured; several servers take one each,
// in order. Without it [Server.Servers] finds free ports. If an address is taken the start fails.
func WithAddress(addresses ...string) Option {
	if slices.Contains(addresses, "") {
		return func(*config) error { return errors.New("WithAddress: an empty address") }
	}
	return set(func(c *config) { c.Addresses = addresses })
}

// WithElection sets how long several servers take to elect a leader: when the leader is killed,
// stopped, isolated or deposed, and when there is a majority again. Meanwhile the remaining servers
// serve no requests: they drop their clients, accept new connections and close them, and report
// that to four-letter words. Session timeouts stop running, and under the new leader each session
// has its whole timeout. Real servers take some tenths of a second on one machine. The default is
// 0: another server leads at once, and clients of the other servers notice only that their sessions
// have their whole timeout again.
func WithElection(d time.Duration) Option {
	return atLeast(0, "WithElection", d, func(c *config) { c.Election = d })
}

// WithMaxPacket sets the largest request in bytes (jute.maxbuffer); a larger one ends the
// connection.
func WithMaxPacket(bytes int) Option {
	return atLeast(64, "WithMaxPacket", bytes, func(c *config) { c.MaxPacket = bytes })
}

// WithMaxConnections sets how many connections one client may have to a server at a time
// (maxClientCnxns). A client is one address, or one [Host]. Further connections are accepted and
// reset at once. By default there is no limit, where a real server's is 60.
func WithMaxConnections(n int) Option {
	return atLeast(0, "WithMaxConnections", n, func(c *config) { c.MaxConnections = n })
}

// WithoutTTL refuses TTL znodes, as a real server does unless zookeeper.extendedTypesEnabled is
// set.
func WithoutTTL() Option { return set(func(c *config) { c.NoTTL = true }) }

// WithContainerCheck sets the interval of the check for empty containers and expired TTL znodes, a
// minute by default. It runs at whole multiples of d since the server's start.
func WithContainerCheck(d time.Duration) Option {
	return atLeast(1, "WithContainerCheck", d, func(c *config) { c.ContainerCheck = d })
}

// WithSuper sets the password of the superuser, who authenticates under the digest scheme as
// "super:password".
func WithSuper(password string) Option {
	return set(func(c *config) { c.Super = zkserver.Digest("super:" + password) })
}

// WithTree makes the server start with the znodes that a text in JSON Lines describes; see
// [Server.Load].
func WithTree(text string) Option {
	return set(func(c *config) { c.Tree = strings.NewReader(text) })
}

// WithJournal sets how many requests the journal keeps, 65,536 by default; 0 turns it off.
func WithJournal(requests int) Option {
	return atLeast(0, "WithJournal", requests, func(c *config) { c.Journal = requests })
}

// WithSeed fixes the random choices of a server: when in its tick each of several servers tells the
// leader which sessions it has heard of, and when a deposed leader learns that it is deposed.
// Without it, or with 0, each server draws its own seed; [Server.Seed] returns it, and [Start] logs
// it if the test has failed. The environment variable ZKTEST_SEED sets the seed of all servers
// without this option.
func WithSeed(seed uint64) Option { return set(func(c *config) { c.Seed = seed }) }

// WithReplay makes a scenario in a testing/synctest bubble repeat: its journal, sorted by instant,
// session and xid. In memory, dialing and each frame take half a millisecond to one and a half,
// drawn from the seed, and frames of different sessions arrive at different instants. Sessions that
// have [Server.Dialer] or [Host.Dialer] draw their pauses, order of servers and GUIDs from the
// seed, and timers of their locks and other recipes are about a microsecond late, so that none is
// at the instant of a test's own. It is the seed of [WithSeed] as well, unless that is given.
// docs/testing.md says what does not repeat, and has the lines that sort the journal.
func WithReplay(seed uint64) Option {
	return func(c *config) error {
		if seed == 0 || c.Replay != nil || !inBubble() {
			return fmt.Errorf("WithReplay(%d): it is given once, not 0, and in a testing/synctest bubble", seed)
		}
		c.Seed, c.Replay = cmp.Or(c.Seed, seed), &seeded.Sessions{Seed: seed}
		return nil
	}
}

// WithLogger makes the server log sessions: expired ones at Info, opened and closed ones at Debug.
// By default it is silent.
func WithLogger(l *slog.Logger) Option { return set(func(c *config) { c.Logger = l }) }
