package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/troupe-go/troupe/internal/zkserver"
)

// bind defines the flags and their defaults.
func (f *serverFlags) bind(flags *pflag.FlagSet) {
	flags.StringVar(&f.listen, "listen", "localhost:2181", "address to listen on, localhost on IPv4 and IPv6; port 0 takes a free port; several servers take consecutive ports")
	flags.IntVar(&f.servers, "servers", 1, "servers that share the tree, each with its own address")
	flags.DurationVar(&f.tick, "tick", 2*time.Second, "tick of the clock by which sessions expire")
	flags.DurationVar(&f.shorter, "min-session-timeout", 0, "shortest session timeout that clients can have (default 2 ticks)")
	flags.DurationVar(&f.longer, "max-session-timeout", 0, "longest session timeout that clients can have (default 20 ticks)")
	flags.StringVar(&f.load, "load", "", "file to start from, of --dump or written by hand")
	flags.StringVar(&f.dump, "dump", "", "file to write the state to at the end, and on SIGHUP; an existing file is replaced")
	flags.StringVar(&f.super, "super", "", "password of the superuser, \"super\"")
	flags.DurationVar(&f.containers, "container-check", time.Minute, "interval of the check for empty containers and expired TTL znodes")
	flags.IntVar(&f.packet, "max-packet", 0xfffff, "bytes of the largest request (jute.maxbuffer)")
	flags.BoolVar(&f.noTTL, "no-ttl", false, "refuse TTL znodes, as a ZooKeeper without extendedTypesEnabled does")
	flags.IntVar(&f.connections, "max-connections", 0, "connections that one address may have to a server (maxClientCnxns); 0: any number")
	flags.StringSliceVar(&f.words, "words", []string{"*"}, "four-letter words that are answered (4lw.commands.whitelist)")
	flags.StringVar(&f.as, "as", "", "be as strict as a carefully configured ZooKeeper of a release: 3.8")
	flags.StringVar(&f.version, "version", "", "version of ZooKeeper to emulate: "+strings.Join(zkserver.Versions(), ", ")+" (default the newest)")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "also log sessions that are opened, closed or expire, to standard error")
}

// settle checks the flags, and applies the settings of --as to those that were not given.
func (f *serverFlags) settle(given func(flag string) bool) error {
	for flag, positive := range map[string]bool{
		"tick": f.tick > 0, "servers": f.servers > 0, "container-check": f.containers > 0, "max-packet": f.packet > 0,
		"min-session-timeout": f.shorter > 0, "max-session-timeout": f.longer > 0,
	} {
		if given(flag) && !positive {
			return fmt.Errorf("--%s: must be positive", flag)
		}
	}
	if f.connections < 0 {
		return errors.New("--max-connections: must not be negative")
	}
	switch f.as {
	case "":
	case "3.8":
		f.noTTL = f.noTTL || !given("no-ttl")
		if !given("max-connections") {
			f.connections = 60
		}
		if !given("words") {
			f.words = []string{"srvr"}
		}
		if !given("version") {
			f.version = "3.8.4"
		}
	default:
		return fmt.Errorf("--as %s: unknown release, only 3.8 is known", f.as)
	}
	return nil
}

// config returns the server's configuration.
func (f *serverFlags) config() zkserver.Config {
	cfg := zkserver.Config{
		Version: f.version, Tick: f.tick, MinTimeout: f.shorter, MaxTimeout: f.longer, MaxPacket: f.packet, Fronts: f.servers,
		ContainerCheck: f.containers, NoTTL: f.noTTL, MaxConnections: f.connections,
		FirstZxid: zxidOf(time.Now()), Words: f.words,
	}
	if len(f.words) == 1 && f.words[0] == "*" {
		cfg.Words = nil
	}
	if f.super != "" {
		cfg.Super = zkserver.Digest("super:" + f.super)
	}
	return cfg
}
