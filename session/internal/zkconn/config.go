package zkconn

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/seeded"
)

const (
	defaultPort = "2181"

	smallBuffer = 4 << 10 // of a connection's reads; a larger frame is allocated

	// A server limits requests, not replies: the reply to a listing may exceed jute.maxbuffer.
	replyFactor = 16
)

// Config is the configuration of a Conn.
type Config struct {
	Servers   []string      // host:port each; without a port, 2181. Tried in random order
	Timeout   time.Duration // of the session, as requested; the server may reply with another
	Slow      bool          // the servers are known to be slow to answer a connect request: they are given more time
	MaxPacket int           // the servers' jute.maxbuffer; 0: as servers have it by default

	// Dial makes a connection. It must return soon after ctx has ended. nil: [Dial], to the
	// addresses that Lookup finds.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Lookup finds the addresses that a host's name stands for. All are tried. nil: the system's,
	// or none if there is a Dial, which gets the name.
	Lookup func(ctx context.Context, host string) ([]string, error)
	// Secure encrypts a connection to a server, which is host:port as given. It must return soon
	// after ctx has ended. nil: nothing is encrypted.
	Secure func(ctx context.Context, raw net.Conn, server string) (net.Conn, error)

	// Stake tells whether the application holds anything that is lost without a connection to a
	// server that answers, and after what time; 0 if it is lost already. It is called without
	// locks. nil: it never does.
	Stake func() (left time.Duration, some bool)

	Seen   int64          // the latest transaction that was seen in sessions before; 0: none
	Auth   []Credential   // presented on every connection, before anything else
	Resume Identity       // a session that exists, and is to be closed; zero: a new one
	Logger *slog.Logger   // nil: no log. Never told a credential
	Source *seeded.Source // of pauses and of the order of servers
	Counts *Counts        // to which the requests are added; nil: they are not counted
}

// Identity is what a server asks for to let a client have a session.
type Identity struct {
	ID       int64
	Password []byte
}

// String hides the password.
func (i Identity) String() string { return fmt.Sprintf("0x%x", uint64(i.ID)) }

// GoString hides the password.
func (i Identity) GoString() string { return i.String() }

// Credential identifies the application to ZooKeeper.
type Credential struct {
	Scheme string
	Secret []byte
}

// String hides the secret.
func (c Credential) String() string { return c.Scheme + ":…" }

// GoString hides the secret.
func (c Credential) GoString() string { return c.String() }

// complete checks the configuration and fills in what it leaves open.
func (cfg *Config) complete() error {
	if len(cfg.Servers) == 0 {
		return errors.New("no ZooKeeper servers are given")
	}
	if ms := cfg.Timeout.Milliseconds(); ms < 1 || ms > math.MaxInt32 {
		return fmt.Errorf("a session timeout of %v is not possible", cfg.Timeout)
	}
	if cfg.MaxPacket <= 0 {
		cfg.MaxPacket = jute.DefaultMaxPacket
	}
	if cfg.Lookup == nil {
		cfg.Lookup = net.DefaultResolver.LookupHost
		if cfg.Dial != nil {
			cfg.Lookup = func(_ context.Context, host string) ([]string, error) { return []string{host}, nil }
		}
	}
	if cfg.Dial == nil {
		cfg.Dial = Dial
	}
	if cfg.Counts == nil {
		cfg.Counts = new(Counts)
	}
	if cfg.Stake == nil {
		cfg.Stake = func() (time.Duration, bool) { return 0, false }
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	cfg.Auth = slices.Clone(cfg.Auth)
	cfg.Servers = slices.Clone(cfg.Servers)
	for i, addr := range cfg.Servers {
		cfg.Servers[i] = withPort(addr)
	}
	cfg.Source.Rand().Shuffle(len(cfg.Servers), func(i, j int) { cfg.Servers[i], cfg.Servers[j] = cfg.Servers[j], cfg.Servers[i] })
	return nil
}

func (c *core) maxReply() int { return replyFactor * c.cfg.MaxPacket }

func withPort(addr string) string {
	if _, _, err := net.SplitHostPort(addr); err == nil {
		return addr
	}
	return net.JoinHostPort(strings.Trim(addr, "[]"), defaultPort)
}

// Dial connects to an address. It is the default of Config.Dial.
func Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, network, addr)
}
