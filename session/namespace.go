package session

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// namespace is the part of ZooKeeper's tree that a session sees.
type namespace struct {
	root    string     // what every path is below: chroot and namespace; "" if there is neither
	acl     []jute.ACL // of the znodes that are made below root
	rootACL []jute.ACL // of root itself, and what is above it
	log     *slog.Logger
}

// path is the absolute path of one of the session's.
func (n *namespace) path(path string) string {
	if path == "/" && n.root != "" {
		return n.root
	}
	return n.root + path
}

// lookup is the session's path of an absolute one; false if that is outside.
func (n *namespace) lookup(path string) (string, bool) {
	if n.root == "" {
		return path, strings.HasPrefix(path, "/")
	}
	rest, ok := strings.CutPrefix(path, n.root)
	switch {
	case !ok || rest != "" && rest[0] != '/':
		return "", false
	case rest == "":
		return "/", true
	}
	return rest, true
}

// relative is for paths that are known to be inside.
func (n *namespace) relative(path string) string {
	path, _ = n.lookup(path)
	return path
}

// parentOf is the path above an absolute one; "" above the root.
func parentOf(path string) string { return path[:strings.LastIndexByte(path, '/')] }

// rootMissing makes the namespace's own znode, if a request failed for want of that. True: it did,
// so the request may be made again. Otherwise it returns the error to go on with.
func (n *namespace) rootMissing(c *zkconn.Conn, err error) (bool, error) {
	if !errors.Is(err, ErrNoNode) || n.root == "" {
		return false, err
	}
	exists, failure := znodeExists(c, n.root)
	if failure == nil && !exists {
		failure = n.ensure(c, n.root, jute.FlagPersistent)
	}
	if failure != nil {
		return false, failure
	}
	return !exists, err
}

// making is the namespace for a call: recipes have an ACL of their own.
func (n namespace) making(ctx context.Context) *namespace {
	if acl := znode.MadeWith[ACL](ctx); acl != nil {
		n.acl = convert[jute.ACL](acl)
	}
	return &n
}

// ensure creates what is missing of an absolute path, from the top down: persistent znodes as far
// as the namespace goes, in the given mode below.
func (n *namespace) ensure(c *zkconn.Conn, path string, mode int32) error {
	if path == "/" || path == "" {
		return nil
	}
	err := n.make(c, path, mode)
	if !errors.Is(err, ErrNoNode) {
		return err
	}
	if err := n.ensure(c, parentOf(path), mode); err != nil {
		return err
	}
	return n.make(c, path, mode)
}

// make creates one znode without data; that it exists already is as good.
func (n *namespace) make(c *zkconn.Conn, path string, mode int32) error {
	acl := n.acl
	if len(path) <= len(n.root) {
		mode, acl = jute.FlagPersistent, n.rootACL
	}
	_, err := c.Create(path, nil, mode, 0, acl)
	if mode == jute.FlagContainer && errors.Is(err, ErrUnsupported) {
		_, err = c.Create(path, nil, jute.FlagPersistent, 0, acl)
	}
	if err == nil && path == n.root { // it may be mistyped
		n.log.Warn("the namespace did not exist, and was created", "namespace", path)
	}
	if errors.Is(err, ErrNoAuth) { // servers check the right to create before whether the znode exists
		if exists, failure := znodeExists(c, path); failure != nil || exists {
			return failure
		}
	}
	if errors.Is(err, ErrNodeExists) {
		return nil
	}
	return err
}

// operation checks an operation of a pipeline or of a transaction and makes it ready to be sent:
// with an absolute path and with the ACL of this namespace where none is given.
func (n *namespace) operation(op Op, pipelined bool) (jute.Request, error) {
	ask, err := op.ask, op.err
	reads := ask.Op == jute.OpGetData || ask.Op == jute.OpGetChildren2
	switch {
	case err != nil:
	case ask.Op == 0:
		err = errors.New("not made by a function such as SetOp")
	case pipelined && (ask.Op == jute.OpCheck || op.hold != nil), !pipelined && reads:
		err = fmt.Errorf("%w: a transaction has no reads, a pipeline no checks and no possession", ErrUnsupported)
	default:
		err = validate(ask.Path)
	}
	ask.Path = n.path(ask.Path)
	if ask.Op == jute.OpCreate && ask.ACL == nil {
		ask.ACL = n.acl
	}
	return ask, err
}

// results are those of operations with the session's paths.
func (n *namespace) results(results []zkconn.Result) []Result {
	all := slices.Grow([]Result(nil), len(results))
	for _, r := range results {
		all = append(all, Result{n.relative(r.Path), Stat(r.Stat), r.Data, r.Names, r.Err})
	}
	return all
}

// create creates a znode; that it exists already is as good.
func (n *namespace) create(c *zkconn.Conn, path string, container bool, data []byte) error {
	if container {
		return n.make(c, path, jute.FlagContainer)
	}
	_, err := c.Create(path, data, jute.FlagPersistent, 0, n.acl)
	if errors.Is(err, ErrNodeExists) {
		return nil
	}
	return err
}

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

func (c *config) credentials() []zkconn.Credential {
	all := make([]zkconn.Credential, len(c.auth))
	for i, cred := range c.auth {
		all[i] = *cred
	}
	return all
}
