package session

import (
	"context"
	"crypto/tls"
	"net"

	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// secure encrypts connections, if that is wanted.
func (c *config) secure() func(ctx context.Context, raw net.Conn, server string) (net.Conn, error) {
	if c.tls == nil {
		return nil
	}
	return func(ctx context.Context, raw net.Conn, server string) (net.Conn, error) {
		cfg := c.tls.Clone()
		if cfg.ServerName == "" {
			cfg.ServerName = server
			if host, _, err := net.SplitHostPort(server); err == nil {
				cfg.ServerName = host
			}
		}
		if verify := cfg.VerifyConnection; verify != nil {
			cfg.VerifyConnection = func(of tls.ConnectionState) error {
				of.ServerName = cfg.ServerName // TLS leaves it out if it is an address
				return verify(of)
			}
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
func (c *config) credentials() []zkconn.Credential {
	all := make([]zkconn.Credential, len(c.auth))
	for i, cred := range c.auth {
		all[i] = *cred
	}
	return all
}
