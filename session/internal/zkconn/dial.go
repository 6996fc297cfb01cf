package zkconn

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"time"
)

// dial is called by the library's loop whenever it has no connection. It returns one that is up, or
// the stub when the session is over.
func (c *Conn) dial(_, _ string, _ time.Duration) (net.Conn, error) {
	w := connect(c)
	if w == nil {
		return c.stub, nil
	}
	if err := w.handshake(); err != nil {
		w.lose(err)
		return nil, err
	}
	return w, nil
}

// hosts is the library's list of servers. It has one, which dial ignores, and never reports the end
// of a round, at which the library would wait for a second.
type hosts struct{}

func (hosts) Init([]string) error                    { return nil }
func (hosts) Len() int                               { return 1 }
func (hosts) Next() (server string, retryStart bool) { return "zookeeper", false }
func (hosts) Connected()                             {}

// logger is the library's.
type logger struct{ log *slog.Logger }

func (l logger) Printf(format string, args ...any) {
	l.log.Debug("zookeeper client: " + fmt.Sprintf(format, args...))
}

// warnDown logs why there is no connection. It logs the first reason only, until there is a
// connection again.
func (c *Conn) warnDown(at *target, cause error) {
	c.mu.Lock()
	again := c.warned || c.over()
	c.warned = true
	c.dialErr = fmt.Errorf("%s: %w", at, cause)
	c.mu.Unlock()
	if !again {
		c.log.Warn("no connection to ZooKeeper", "server", at.server, "address", at.address, "cause", cause)
	}
}

// Trouble is why the last attempt to connect failed; nil if there was a connection since.
func (c *Conn) Trouble() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dialErr
}

// Dial connects to an address. It is the default of Config.Dial.
func Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, network, addr)
}
