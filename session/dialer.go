package session

import (
	"context"
	"crypto/tls"
	"net"

	"github.com/troupe-go/troupe/session/internal/link"
)

type dialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

// dialer makes the connections: the user's or the usual one, with TLS on top if that is wanted.
func (c *config) dialer() dialFunc {
	dial := c.dial
	if dial == nil {
		dial = link.Dial
	}
	if c.tls == nil {
		return dial
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		raw, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		cfg := c.tls
		if cfg.ServerName == "" {
			cfg = cfg.Clone()
			cfg.ServerName = hostOf(addr)
		}
		secured := tls.Client(raw, cfg)
		if err := secured.HandshakeContext(ctx); err != nil {
			_ = raw.Close() // the handshake's error is the one that matters
			return nil, err
		}
		return secured, nil
	}
}

// credentials are what is presented on each connection.
func (c *config) credentials() []link.Credential {
	all := make([]link.Credential, len(c.auth))
	for i, cred := range c.auth {
		all[i] = *cred
	}
	return all
}

func hostOf(addr string) string {
	if host, _, err := net.SplitHostPort(addr); err == nil {
		return host
	}
	return addr
}
