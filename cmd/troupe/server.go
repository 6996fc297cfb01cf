package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/troupe-go/troupe/internal/zkserver"
)

// serverFlags are the server's configuration, and flags that become part of it.
type serverFlags struct {
	zkserver.Config
	listen, load, dump, super, as string
	verbose                       bool
}

func server() *cobra.Command {
	var f serverFlags
	cmd := &cobra.Command{
		Use:   "server",
		Short: "Run a ZooKeeper server for development",
		Long: `Run a server that speaks ZooKeeper's protocol, for development and demonstrations.

It is one process that keeps everything in memory: nothing is replicated, and when it stops only what --dump has written remains. It listens
on loopback, IPv4 and IPv6, unless told otherwise, since who can reach it has the access that the znodes' ACLs give to all.

It is lenient by default. --as 3.8 makes it as strict as a carefully configured ZooKeeper 3.8: TTL znodes are refused, an address may have 60
connections, and srvr is the only four-letter word. Each of these also has a flag of its own.

--dump writes the tree at the end, and on SIGHUP: all znodes but ephemeral ones, with data, ACLs, kinds and the counters of sequential
children. --load starts from such a file, or from one written by hand; one that does not exist yet is an empty tree. Sessions are not kept:
clients are told that theirs have expired. A line is a znode, such as {"path": "/app", "data": "hello"}: see docs/testing.md.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.settle(cmd.Flags().Changed); err != nil {
				return err
			}
			err := serve(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), f)
			if cmd.Context().Err() != nil && errors.Is(err, context.Canceled) {
				return nil // it was stopped while it loaded
			}
			return err
		},
	}
	f.bind(cmd.Flags())
	return cmd
}

// bind defines the flags and their defaults.
func (f *serverFlags) bind(flags *pflag.FlagSet) {
	flags.StringVar(&f.listen, "listen", "localhost:2181", "address, localhost on IPv4 and IPv6; port 0 takes a free port; several servers take consecutive ports")
	flags.IntVar(&f.Fronts, "servers", 1, "servers that share the tree, each with its own address")
	flags.DurationVar(&f.Tick, "tick", 2*time.Second, "tick of the clock by which sessions expire")
	flags.DurationVar(&f.MinTimeout, "min-session-timeout", 0, "shortest session timeout that clients can have (default 2 ticks)")
	flags.DurationVar(&f.MaxTimeout, "max-session-timeout", 0, "longest session timeout that clients can have (default 20 ticks)")
	flags.StringVar(&f.load, "load", "", "file to start from, of --dump or written by hand")
	flags.StringVar(&f.dump, "dump", "", "file to write the state to at the end, and on SIGHUP; an existing file is replaced")
	flags.StringVar(&f.super, "super", "", "password of the superuser, \"super\"")
	flags.DurationVar(&f.ContainerCheck, "container-check", time.Minute, "interval of the check for empty containers and expired TTL znodes")
	flags.IntVar(&f.MaxPacket, "max-packet", 0xfffff, "bytes of the largest request (jute.maxbuffer)")
	flags.BoolVar(&f.NoTTL, "no-ttl", false, "refuse TTL znodes, as a ZooKeeper without extendedTypesEnabled does")
	flags.IntVar(&f.MaxConnections, "max-connections", 0, "connections that one address may have to a server (maxClientCnxns); 0: any number")
	flags.StringSliceVar(&f.Words, "words", []string{"*"}, "four-letter words that are answered (4lw.commands.whitelist)")
	flags.StringVar(&f.as, "as", "", "be as strict as a carefully configured ZooKeeper of a release: 3.8")
	flags.StringVar(&f.Version, "version", "", "version of ZooKeeper to emulate: "+strings.Join(zkserver.Versions(), ", ")+" (default the newest)")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "also log sessions that are opened, closed or expire, to standard error")
}

// settle checks the flags, and applies the settings of --as to those that were not given.
func (f *serverFlags) settle(given func(flag string) bool) error {
	for flag, positive := range map[string]bool{
		"tick": f.Tick > 0, "servers": f.Fronts > 0, "container-check": f.ContainerCheck > 0, "max-packet": f.MaxPacket > 0,
		"min-session-timeout": f.MinTimeout > 0, "max-session-timeout": f.MaxTimeout > 0,
	} {
		if given(flag) && !positive {
			return fmt.Errorf("--%s: must be positive", flag)
		}
	}
	if f.MaxConnections < 0 {
		return errors.New("--max-connections: must not be negative")
	}
	switch f.as {
	case "":
	case "3.8":
		f.NoTTL = f.NoTTL || !given("no-ttl")
		f.MaxConnections = choose(given("max-connections"), f.MaxConnections, 60)
		f.Words = choose(given("words"), f.Words, []string{"srvr"})
		f.Version = choose(given("version"), f.Version, "3.8.4")
	default:
		return fmt.Errorf("--as %s: unknown release, only 3.8 is known", f.as)
	}
	return nil
}

func (f *serverFlags) config() zkserver.Config {
	cfg := f.Config
	cfg.FirstZxid = zxidOf(time.Now())
	if len(f.Words) == 1 && f.Words[0] == "*" {
		cfg.Words = nil
	}
	if f.super != "" {
		cfg.Super = zkserver.Digest("super:" + f.super)
	}
	return cfg
}

// serve runs until ctx ends.
func serve(ctx context.Context, out, log io.Writer, f serverFlags) error {
	hangup := make(chan os.Signal, 1)
	if f.dump != "" {
		if err := writable(f.dump); err != nil {
			return fmt.Errorf("--dump %s: not writable: %w", f.dump, err)
		}
		signal.Notify(hangup, syscall.SIGHUP)
		defer signal.Stop(hangup)
	}
	s, err := build(ctx, out, log, f)
	if err != nil {
		return err
	}
	defer s.Close() //nolint:errcheck // only for the returns with an error; the last Close is checked
	if err := listen(ctx, s, out, f.listen); err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	attend(ctx, s, out, log, hangup, f.dump)
	if err := s.Close(); err != nil { // before the dump, so that the tree no longer changes
		return err
	}
	if f.dump != "" {
		if err := dump(context.WithoutCancel(ctx), s, out, f.dump); err != nil { // ctx has ended, but the dump is written
			return fmt.Errorf("--dump: %w", err)
		}
	}
	fmt.Fprintln(out, "stopped")
	return nil
}

// attend returns when ctx ends, and writes a dump at each SIGHUP until then.
func attend(ctx context.Context, s *zkserver.Server, out, log io.Writer, hangup <-chan os.Signal, name string) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangup:
			if err := dump(ctx, s, out, name); err != nil && ctx.Err() == nil {
				fmt.Fprintln(log, "troupe: --dump:", err) // a later dump may succeed
			}
		}
	}
}

// build creates the server with its initial tree.
func build(ctx context.Context, out, log io.Writer, f serverFlags) (*zkserver.Server, error) {
	cfg := f.config()
	cfg.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: choose(f.verbose, slog.LevelDebug, slog.LevelWarn)}))
	if f.load != "" {
		file, err := os.Open(f.load)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			fmt.Fprintf(out, "%s does not exist yet: starting with an empty tree\n", f.load)
		case err != nil:
			return nil, fmt.Errorf("--load: %w", err)
		default:
			defer file.Close()                                          //nolint:errcheck // it was only read
			defer context.AfterFunc(ctx, func() { _ = file.Close() })() // ends the load
			cfg.Tree = file
		}
	}
	s, err := zkserver.New(cfg)
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if errors.Is(err, zkserver.ErrTree) {
		return nil, fmt.Errorf("--load %s: %w", f.load, err)
	}
	return s, err
}

// zxidOf is a process's first zxid. It is larger than all zxids of an earlier process, so no client
// has seen a larger one. Its epoch is the time in seconds, its counter the fraction in steps of
// 1/256.
func zxidOf(now time.Time) int64 {
	past := now.Sub(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC))
	return int64(past/time.Second)<<32 | int64(past%time.Second)*256/int64(time.Second)<<24
}

// listen opens the sockets of all servers, two for localhost with IPv6, and prints the addresses.
func listen(ctx context.Context, s *zkserver.Server, out io.Writer, address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	first, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return fmt.Errorf("port %q: %w", port, err)
	}
	local := host == "localhost"
	host = choose(local, "127.0.0.1", host)
	var all, also []string
	for i := range s.Fronts() {
		if first > 0 {
			port = strconv.FormatUint(first+uint64(i), 10)
		}
		at, err := s.Front(i).Listen(ctx, net.JoinHostPort(host, port))
		if err != nil {
			return err
		}
		if all = append(all, at); !local {
			continue
		}
		_, taken, _ := net.SplitHostPort(at) // cannot fail: it is the address of a listener
		too := net.JoinHostPort("::1", taken)
		switch err := s.Front(i).ListenAlso(ctx, too); {
		case err == nil:
			also = append(also, too)
		case errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EAFNOSUPPORT): // no IPv6 here
		default:
			return err
		}
	}
	fmt.Fprintf(out, "listening on %s\n", strings.Join(all, ","))
	if len(also) > 0 {
		fmt.Fprintf(out, "and on %s\n", strings.Join(also, ","))
	}
	return nil
}

// writable checks at the start that a file can be written at the end.
func writable(name string) error {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return errors.New("is a directory")
	}
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// dump writes the server's tree to a file, and says so. The file is either complete or not changed.
func dump(ctx context.Context, s *zkserver.Server, out io.Writer, name string) error {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*")
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = f.Close() })() // a large file does not delay the end
	if err = errors.Join(s.Save(f), f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	_, err = fmt.Fprintf(out, "wrote %s\n", name)
	return err
}
