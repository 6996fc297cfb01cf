package zktest

import (
	"log/slog"
	"strings"
	"time"

	"github.com/troupe-go/troupe/internal/zkserver"
)

// Option configures a server.
type Option func(*zkserver.Config)

// WithVersion sets the version of ZooKeeper whose behaviour the server has: "3.8.0", "3.8.4",
// "3.9.2" or "3.9.6", the newest by default. [Versions] lists them, and the package's documentation
// says how they differ. Another version is refused by [New]. The environment variable
// ZKTEST_VERSION sets the version of all servers that have none, so that a whole suite runs as if
// on another ZooKeeper.
func WithVersion(version string) Option { return func(c *zkserver.Config) { c.Version = version } }

// Versions are those that [WithVersion] takes, oldest first.
func Versions() []string { return zkserver.Versions() }

// WithTick sets the tick of the expiry clock, 2 seconds by default. Sessions expire at ticks,
// counted from the server's start: one that was heard of last at t expires at the first tick later
// than t plus its timeout.
func WithTick(d time.Duration) Option { return func(c *zkserver.Config) { c.Tick = d } }

// WithSessionTimeouts sets the bounds of what clients can negotiate; 2 and 20 ticks by default.
func WithSessionTimeouts(least, most time.Duration) Option {
	return func(c *zkserver.Config) { c.MinTimeout, c.MaxTimeout = least, most }
}

// WithServers makes n servers that share one tree. One of them, at first the last, says that it
// leads; the others follow.
func WithServers(n int) Option { return func(c *zkserver.Config) { c.Fronts = n } }

// WithAddress has the server listen at a fixed TCP address from the beginning, as "127.0.0.1:2181",
// for programs that can't be told another one; several servers take one each, in their order.
// Without it [Server.Servers] finds free ports. An address that is taken fails the start.
func WithAddress(addresses ...string) Option {
	return func(c *zkserver.Config) { c.Addresses = addresses }
}

// WithElection sets how long several servers take to elect a leader: when the one that led is
// killed, stopped, isolated or deposed, and when there is a majority again. Meanwhile those that
// are left serve nobody: they drop their clients, accept new connections and close them, and say so
// to four-letter words. Time stands still for the sessions, and under the new leader each has its
// whole timeout. Real servers take some tenths of a second on one machine. By default it is 0:
// another one leads at once, and clients of the other servers notice nothing but that their
// sessions have their whole timeout again.
func WithElection(d time.Duration) Option { return func(c *zkserver.Config) { c.Election = d } }

// WithMaxPacket sets the largest request in bytes (jute.maxbuffer); a larger one ends the
// connection.
func WithMaxPacket(bytes int) Option { return func(c *zkserver.Config) { c.MaxPacket = bytes } }

// WithMaxConnections sets how many connections one client may have to a server at a time
// (maxClientCnxns): one address, or one [Host]. One more is accepted and reset at once. By default
// there is no limit, where a real server's is 60.
func WithMaxConnections(n int) Option { return func(c *zkserver.Config) { c.MaxConnections = n } }

// WithoutTTL refuses TTL znodes, as a real server does unless zookeeper.extendedTypesEnabled is
// set.
func WithoutTTL() Option { return func(c *zkserver.Config) { c.NoTTL = true } }

// WithContainerCheck sets how often empty containers and expired TTL znodes are looked for, a
// minute by default: at whole multiples of d since the server's start.
func WithContainerCheck(d time.Duration) Option {
	return func(c *zkserver.Config) { c.ContainerCheck = d }
}

// WithSuper names the user who may do everything, by the password that he authenticates with under
// the digest scheme as "super:password".
func WithSuper(password string) Option {
	return func(c *zkserver.Config) { c.Super = zkserver.Digest("super:" + password) }
}

// WithTree has the server begin with the znodes that a text in JSON or YAML describes;
// [Server.Load] says how.
func WithTree(text string) Option {
	return func(c *zkserver.Config) { c.Tree = strings.NewReader(text) }
}

// WithJournal sets how many requests the journal keeps, 65,536 by default; 0 turns it off.
func WithJournal(requests int) Option { return func(c *zkserver.Config) { c.Journal = requests } }

// WithJournalBytes sets how much memory the requests in the journal may take, their data above all,
// 64 MB by default: when they would take more, the oldest are forgotten. The last request is kept
// however large it is.
func WithJournalBytes(n int) Option { return func(c *zkserver.Config) { c.JournalBytes = n } }

// WithSeed fixes what is drawn at random in a server: when in its tick each of several servers
// tells the leader which sessions it has heard of, and when a deposed leader learns that it is.
// Without it, or with 0, each server draws a seed of its own; [Server.Seed] tells it, and [Start]
// logs it when the test has failed. The environment variable ZKTEST_SEED sets the seed of all
// servers that have none.
func WithSeed(seed uint64) Option { return func(c *zkserver.Config) { c.Seed = seed } }

// WithLogger has the server log sessions: those that expire at Info, those that are opened or
// closed at Debug. By default it is silent.
func WithLogger(l *slog.Logger) Option { return func(c *zkserver.Config) { c.Logger = l } }
