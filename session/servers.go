package session

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// parseServers understands a list of addresses, each of which may be a list of the Java client's:
// "host:port,host:port/chroot".
func parseServers(servers []string) (addrs []string, chroot string, err error) {
	for i, entry := range servers {
		if strings.Contains(entry, "://") {
			return nil, "", fmt.Errorf("servers[%d]: %q: without a scheme: host:port", i, entry)
		}
		list, root := entry, ""
		if at := strings.IndexByte(entry, '/'); at >= 0 {
			list, root = entry[:at], strings.TrimSuffix(entry[at:], "/")
		}
		if root != "" {
			if err := znode.Validate(root); err != nil {
				return nil, "", fmt.Errorf("servers[%d]: chroot %q: %w: %w", i, root, ErrInvalidPath, err)
			}
			if chroot != "" && chroot != root {
				return nil, "", fmt.Errorf("servers[%d]: chroot %q: another one, %q, was given before", i, root, chroot)
			}
			chroot = root
		}
		for addr := range strings.SplitSeq(list, ",") {
			addr = strings.TrimSpace(addr)
			if err := checkAddr(addr); err != nil {
				return nil, "", fmt.Errorf("servers[%d]: %q: %w", i, entry, err)
			}
			addrs = append(addrs, addr)
		}
	}
	if len(addrs) == 0 {
		return nil, "", errors.New("servers: none is given")
	}
	return addrs, chroot, nil
}

// checkAddr finds slips of the pen; whether the host exists is found out when it is dialled.
func checkAddr(addr string) error {
	if addr == "" {
		return errors.New("an empty address")
	}
	if strings.ContainsAny(addr, " \t\r\n") {
		return errors.New("an address with a space in it")
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		if isHost(addr) {
			return nil // the port is ZooKeeper's usual one
		}
		return err
	}
	if host == "" {
		return errors.New("an address without a host")
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return fmt.Errorf("port %q is not a number from 1 to 65535", port)
	}
	return nil
}

// isHost tells whether this is a host without a port: a name, or an address, that of IPv6 in
// brackets or not.
func isHost(addr string) bool {
	if !strings.ContainsAny(addr, ":[]") {
		return true
	}
	if rest, ok := strings.CutPrefix(addr, "["); ok {
		addr, ok = strings.CutSuffix(rest, "]")
		if !ok {
			return false
		}
	}
	_, err := netip.ParseAddr(addr)
	return err == nil
}

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
