package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
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
		if !given("max-connections") {
			f.MaxConnections = 60
		}
		if !given("words") {
			f.Words = []string{"srvr"}
		}
		if !given("version") {
			f.Version = "3.8.4"
		}
	default:
		return fmt.Errorf("--as %s: unknown release, only 3.8 is known", f.as)
	}
	return nil
}

// config returns the server's configuration.
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
