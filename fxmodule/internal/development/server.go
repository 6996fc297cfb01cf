// Package development is between fxmodule, which uses a server in this process, and
// fxmodule/embedded and fxmodule/fxtest, which have one. So only programs that import one of these
// are linked with a server.
package development

import (
	"context"
	"log/slog"
	"net"
)

// Dialer connects to a server.
type Dialer func(ctx context.Context, network, address string) (net.Conn, error)

// Server is a ZooKeeper server in this process.
type Server interface {
	Address() string
	Dial(ctx context.Context, network, address string) (net.Conn, error)
	Listen(ctx context.Context, address string) (string, error)
	Close() error
}

// New makes a server; nil, if the program does not import fxmodule/embedded.
var New func(log *slog.Logger) (Server, error)
