package session

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// secure encrypts connections, if that is wanted.
func (c *config) secure() func(ctx context.Context, raw net.Conn, server string) (net.Conn, error) {
	if c.tls == nil {
		return nil
	}
	return func(ctx context.Context, raw net.Conn, server string) (net.Conn, error) {
		cfg := c.tls
		if cfg.ServerName == "" {
			cfg = cfg.Clone()
			cfg.ServerName = hostOf(server)
		}
		secured := tls.Client(raw, cfg)
		if err := secured.HandshakeContext(ctx); err != nil {
			_ = raw.Close() // the handshake's error is the one that matters
			return nil, err
		}
		return secured, nil
	}
}

// atStake tells whether anything rests on an epoch's being heard of, and for how long that stands
// if it is not.
func (s *Session) atStake(e *epoch) (left time.Duration, some bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.over || e != s.cur || s.stake() == 0 {
		return 0, false
	}
	if s.lease.Stands() {
		left = max(s.clock.now().Left(s.lease.Until()), 0)
	}
	return left, true
}

// credentials are what is presented on each connection.
func (c *config) credentials() []zkconn.Credential {
	all := make([]zkconn.Credential, len(c.auth))
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
