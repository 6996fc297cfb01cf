package main

import (
	"time"

	"github.com/spf13/cobra"
)

type serverFlags struct {
	listen      string
	servers     int
	tick        time.Duration
	shorter     time.Duration
	longer      time.Duration
	load        string
	dump        string
	super       string
	containers  time.Duration
	packet      int
	noTTL       bool
	connections int
	words       []string
	as          string
	version     string
	verbose     bool
}

func server() *cobra.Command {
	var f serverFlags
	cmd := &cobra.Command{
		Use:   "server",
		Short: "Run a ZooKeeper server for development",
		Long: `Run a server that speaks ZooKeeper's protocol, for development and demonstrations.

It is one process that keeps everything in memory: nothing is replicated, and when it stops only what --dump has written remains. It listens on the
loopback interface, IPv4 and IPv6, unless told otherwise, because any client that can reach it has the access that the znodes' ACLs give to all. It stops on
SIGTERM or an interrupt.

It is lenient by default. --as 3.8 makes it as strict as a carefully configured ZooKeeper 3.8: TTL znodes are refused, an address may have 60 connections, and
srvr is the only four-letter word. Each of these also has a flag of its own.

--dump writes the tree at the end, and on SIGHUP: all znodes but ephemeral ones, with data, ACLs, kinds and the counters of sequential children. --load starts
from such a file, or from one written by hand. Sessions are not kept: clients that reconnect are told that theirs have expired. A file that does not exist yet
counts as an empty tree. The format is JSON Lines, a znode a line:

    {"path": "/app", "data": "hello"}
    {"path": "/app/picture", "base64": "iVBORw0KGgo=", "acl": [{"perms": "cdrwa", "scheme": "digest", "id": "bob:WHD3ZrB3+FlTpTJfHDRkF0wYJdA="}]}
    {"path": "/app/jobs", "sequence": 17}
    {"path": "/app/locks", "kind": "container"}
    {"path": "/app/cache", "kind": "ttl", "ttl": "5m"}

sequence is the number of the next sequential child. Every field but the path may be left out.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.settle(cmd.Flags().Changed); err != nil {
				return err
			}
			return serve(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), f)
		},
	}
	f.bind(cmd.Flags())
	return cmd
}
