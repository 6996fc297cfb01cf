package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/troupe-go/troupe/fxmodule"
	"github.com/troupe-go/troupe/session"
)

// connection says how to reach the ensemble.
type connection struct {
	fxmodule.Config
	authFile string
	log      *slog.Logger
	wait     time.Duration // to connect; 0: for ever
	quiet    bool          // warnings are not logged
	options  []session.Option
	dial     func(ctx context.Context, network, addr string) (net.Conn, error) // to ask four-letter words
}

// bind defines the flags. Each has a variable: see environment.
func (c *connection) bind(flags *pflag.FlagSet) {
	c.dial = new(net.Dialer).DialContext
	flags.StringSliceVar(&c.Servers, "servers", nil, `the ensemble, "host:port,host:port"; a chroot, which is created like --namespace, may follow: "host:port/app"`)
	flags.StringVar(&c.Namespace, "namespace", "", "put in front of each path; its znode is created if a command finds that it does not exist")
	flags.DurationVar((*time.Duration)(&c.Timeout), "session-timeout", 10*time.Second, "session timeout to ask for")
	flags.DurationVar(&c.wait, "connect-timeout", 0, "how long to try to connect, 0 for ever (default the session timeout)")
	flags.DurationVar((*time.Duration)(&c.Tick), "tick", 0, "the servers' tickTime, if known: a lock is trusted for longer then")
	flags.BoolVar(&c.Strict, "strict", false, "a lock or leadership is lost with the first loss of the connection")
	flags.IntVar(&c.MaxPacket, "max-packet", 1_048_575, "the servers' jute.maxbuffer, in bytes")
	flags.BoolVar(&c.Private, "private", false, "only the credential may read and write what is created; who may delete it, the parent's ACL says")
	flags.StringVar(&c.authFile, "auth-file", "", `file with a credential: a line "digest user:password"`)
	flags.BoolVar(&c.TLS.Enabled, "tls-enabled", false, "encrypt the connection")
	flags.StringVar(&c.TLS.CAFile, "tls-ca-file", "", "PEM file of the authorities to trust (default the system's)")
	flags.StringVar(&c.TLS.CertFile, "tls-cert-file", "", "PEM file of this client's certificate")
	flags.StringVar(&c.TLS.KeyFile, "tls-key-file", "", "PEM file of its key")
	flags.StringVar(&c.TLS.ServerName, "tls-server-name", "", "name in the servers' certificates (default their host)")
}

// environment sets the flags that were not given from the variables, which are those of fxmodule.
func (c *connection) environment(flags *pflag.FlagSet) error {
	var all pflag.FlagSet
	new(connection).bind(&all)
	var wrong error
	all.VisitAll(func(f *pflag.Flag) {
		name := "TROUPE_" + strings.ToUpper(strings.ReplaceAll(strings.TrimPrefix(f.Name, "session-"), "-", "_")) // --session-timeout is TROUPE_TIMEOUT
		if text := os.Getenv(name); text != "" && !flags.Changed(f.Name) && wrong == nil {
			if err := flags.Set(f.Name, text); err != nil {
				wrong = fmt.Errorf("%s: %w", name, err)
			}
		}
	})
	return wrong
}

func (c *connection) credential() error {
	c.AuthScheme, c.AuthSecret = os.Getenv("TROUPE_AUTH_SCHEME"), fxmodule.Secret(os.Getenv("TROUPE_AUTH_SECRET"))
	if c.authFile == "" {
		return nil
	}
	text, err := os.ReadFile(c.authFile)
	if err != nil {
		return fmt.Errorf("--auth-file: %w", err)
	}
	scheme, secret, ok := strings.Cut(strings.TrimRight(string(text), "\r\n"), " ")
	if !ok || scheme == "" || secret == "" || strings.ContainsAny(secret, "\r\n") {
		return fmt.Errorf(`--auth-file %s: not a line "scheme secret", as in "digest user:password"`, c.authFile)
	}
	c.AuthScheme, c.AuthSecret = scheme, fxmodule.Secret(secret)
	return nil
}

// settle completes the flags, and checks them.
func (c *connection) settle(cmd *cobra.Command) error {
	if err := errors.Join(c.environment(cmd.Flags()), c.credential()); err != nil {
		return err
	}
	if !cmd.Flags().Changed("connect-timeout") {
		c.wait = time.Duration(c.Timeout)
	}
	switch {
	case len(c.Servers) == 0:
		return errors.New("--servers: none given, and TROUPE_SERVERS is not set either")
	case c.Timeout <= 0:
		return fmt.Errorf("--session-timeout %v: not positive", time.Duration(c.Timeout))
	case c.wait < 0:
		return fmt.Errorf("--connect-timeout %v: negative", c.wait)
	}
	return c.Validate()
}

func (c *connection) connect(cmd *cobra.Command) (*session.Session, error) {
	if err := c.settle(cmd); err != nil {
		return nil, usage{err}
	}
	if c.quiet {
		c.log = slog.New(slog.DiscardHandler)
	}
	opts, err := c.SessionOptions(c.log)
	if err != nil {
		return nil, err
	}
	s, err := session.New(c.Servers, append(append(opts, session.WithLogger(c.log)), c.options...)...)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(cmd.Context(), cmp.Or(c.wait, math.MaxInt64), errUnreachable)
	defer cancel()
	if err := s.Connect(ctx); err != nil {
		return nil, errors.Join(err, c.close(s))
	}
	return s, nil
}

// close ends the session. Without a connection it ends by itself, after its timeout.
func (c *connection) close(s *session.Session) error {
	err := session.CloseWithin(s, choose(s.Status().State == session.Connected, 2*time.Second, time.Millisecond))
	if errors.Is(err, session.ErrClosed) || errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

// ask sends a four-letter word to a server, and returns the answer.
func (c *connection) ask(ctx context.Context, addr, word string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("nothing within %v", patience))
	defer cancel()
	conn, err := c.dial(ctx, "tcp", addr)
	if err != nil {
		return "", cmp.Or(context.Cause(ctx), err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() }) // ends the read
	defer func() { stop(); _ = conn.Close() }()
	secured, text := conn, []byte(nil)
	if c.TLS.Enabled {
		cfg, err := c.TLS.Client(slog.New(slog.DiscardHandler)) // the session logs its errors
		if err != nil {
			return "", err
		}
		host, _, _ := net.SplitHostPort(addr) // it has a port
		cfg.ServerName = cmp.Or(cfg.ServerName, host)
		secured = tls.Client(conn, cfg)
	}
	if _, err = io.WriteString(secured, word); err == nil {
		text, err = io.ReadAll(io.LimitReader(secured, 16<<20)) // a list of 600,000 sessions
	}
	if len(text) > 0 && ctx.Err() == nil {
		return string(text), nil // an error of the connection after the answer does not matter
	}
	return "", cmp.Or(context.Cause(ctx), err, errors.New("it closed the connection without a word"))
}

// addresses takes a list of servers apart: each with its port, and the chroot.
func addresses(servers []string) (addrs []string, chroot string) {
	for entry := range strings.SplitSeq(strings.Join(servers, ","), ",") {
		addr, root, _ := strings.Cut(strings.TrimSpace(entry), "/")
		if root = strings.TrimSuffix(root, "/"); root != "" {
			chroot = "/" + root
		}
		if _, _, err := net.SplitHostPort(addr); err != nil {
			addr = net.JoinHostPort(strings.Trim(addr, "[]"), "2181")
		}
		addrs = append(addrs, addr)
	}
	return addrs, chroot
}
