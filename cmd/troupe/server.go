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
	data        string
	log         int64
	super       string
	containers  time.Duration
	packet      int
	noTTL       bool
	connections int
	words       []string
	quotas      bool
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

It is one process that keeps everything in memory: nothing is replicated, and nothing is left when it stops but what --data keeps or --dump writes. It listens on the
loopback interface, IPv4 and IPv6, unless told otherwise, since whoever can reach it can do what the ACLs of the znodes let everybody do. It stops on SIGTERM or an
interrupt.

It is as lenient as a server for development may be. --as 3.8 makes it as strict as a ZooKeeper 3.8 that is set up carefully: TTL znodes are
refused, 60 connections from an address, srvr alone of the four-letter words, and hard quotas are enforced. Any of these can be set by itself as well.

--dump writes the whole state at the end, and on SIGHUP: znodes with versions, times and zxids, and the sessions. --load begins with it, so that clients
that reconnect go on with their sessions, ephemerals and watches. A file that does not exist yet stands for an empty tree. It is JSON Lines; YAML or JSON if
its name ends in .yaml, .yml or .json. A tree may also be written by hand, in any of the three:

    {"path": "/app", "data": "hello"}

    /app:
        data: hello                     # or base64: aGVsbG8=
        acl:
            - {perms: cdrwa, scheme: digest, id: "bob:WHD3ZrB3+FlTpTJfHDRkF0wYJdA="}
    /app/jobs:
        sequence: 17                    # of the next sequential child
    /app/locks:
        kind: container                 # or kind: ttl, with ttl: 5m

Every field may be left out.

--data keeps everything in a folder: a log of transactions, which is on the disk before anything is answered, and snapshots. Nothing that was answered is
lost, however the process or the machine ends. --load is for a folder that is empty still.`,
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
