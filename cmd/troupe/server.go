package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/troupe-go/troupe/internal/zkserver"
)

type serverFlags struct {
	listen  string
	tick    time.Duration
	shorter time.Duration
	longer  time.Duration
	load    string
	dump    string
	verbose bool
}

func server() *cobra.Command {
	var f serverFlags
	cmd := &cobra.Command{
		Use:   "server",
		Short: "Run a ZooKeeper server for development",
		Long: `Run a server that speaks ZooKeeper's protocol, for development and demonstrations.

It is one process that keeps everything in memory: nothing is replicated, and nothing is left when it stops but what --dump writes. It listens on the
loopback interface unless told otherwise, since whoever can reach it can do what the ACLs of the znodes let everybody do. It stops on SIGTERM or an
interrupt.

--load and --dump take a tree as JSON or YAML, which maps paths to znodes:

    /app:
        data: hello                     # or base64: aGVsbG8=
        acl:
            - {perms: cdrwa, scheme: digest, id: "bob:WHD3ZrB3+FlTpTJfHDRkF0wYJdA="}
    /app/jobs:
        sequence: 17                    # of the next sequential child
    /app/locks:
        kind: container                 # or kind: ttl, with ttl: 5m

Every field may be left out. --dump writes JSON if the file's name ends so, or else YAML; ephemerals are not in it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serve(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), f)
		},
	}
	cmd.Flags().StringVar(&f.listen, "listen", "127.0.0.1:2181", "address to listen on; port 0 takes any free one")
	cmd.Flags().DurationVar(&f.tick, "tick", 2*time.Second, "tick of the clock by which sessions expire")
	cmd.Flags().DurationVar(&f.shorter, "min-session-timeout", 0, "shortest session timeout that clients can have (default 2 ticks)")
	cmd.Flags().DurationVar(&f.longer, "max-session-timeout", 0, "longest session timeout that clients can have (default 20 ticks)")
	cmd.Flags().StringVar(&f.load, "load", "", "file with the tree to begin with, JSON or YAML")
	cmd.Flags().StringVar(&f.dump, "dump", "", "file to write the tree to at the end; one that is there is replaced")
	cmd.Flags().BoolVarP(&f.verbose, "verbose", "v", false, "log sessions that are opened, closed or expire, to standard error")
	return cmd
}

// serve runs until ctx ends.
func serve(ctx context.Context, out, log io.Writer, f serverFlags) error {
	cfg := zkserver.Config{Tick: f.tick, MinTimeout: f.shorter, MaxTimeout: f.longer}
	if f.verbose {
		cfg.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	var err error
	if f.load != "" {
		if cfg.Tree, err = os.ReadFile(f.load); err != nil {
			return fmt.Errorf("--load: %w", err)
		}
	}
	if err := writable(f.dump); err != nil {
		return fmt.Errorf("--dump %s: it can't be written: %w", f.dump, err)
	}
	s, err := zkserver.New(cfg)
	if err != nil {
		return err
	}
	defer s.Close() //nolint:errcheck // for the errors below; the last one is looked at
	address, err := s.Front(0).Listen(ctx, f.listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	fmt.Fprintf(out, "listening on %s\n", address)
	<-ctx.Done()
	if err := s.Close(); err != nil { // first, so that nobody changes the tree any more
		return err
	}
	if f.dump != "" {
		if err := dump(s, f.dump); err != nil {
			return err
		}
		fmt.Fprintf(out, "wrote %s\n", f.dump)
	}
	fmt.Fprintln(out, "stopped")
	return nil
}
