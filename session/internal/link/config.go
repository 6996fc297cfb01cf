package link

import (
	"context"
	"log/slog"
	"net"
	"time"
)

// DefaultMaxPacket is what a server takes if its jute.maxbuffer is not set.
const DefaultMaxPacket = 1<<20 - 1

// Config says how to reach ZooKeeper and what for.
type Config struct {
	Servers   []string      // host:port each; without a port, 2181
	Timeout   time.Duration // of the session, as asked for; the server may negotiate
	MaxPacket int           // the servers' jute.maxbuffer; 0: DefaultMaxPacket

	// Dial makes a connection, TLS included. It must return soon after ctx has ended. nil: [Dial].
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)

	Auth   []Credential // presented on every connection, before anything else
	Logger *slog.Logger // nil: no log
}

// Credential identifies the application to ZooKeeper. It is never logged.
type Credential struct {
	Scheme string
	Secret []byte
}

// String hides the secret.
func (c Credential) String() string { return c.Scheme + ":…" }

// GoString hides the secret.
func (c Credential) GoString() string { return c.String() }
