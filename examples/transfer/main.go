// Transfer moves money between two account services that keep their ledgers in separate files, by
// two-phase commit, while all processes are killed at random.
//
//	go run ./examples/transfer            # on a ZooKeeper server inside this program
//	go run ./examples/transfer -zk zk1:2181
//
// # What happens
//
// North and south are processes with accounts in a bbolt file each (ledger.go, site.go). A third
// process, the coordinator (coordinator.go), moves money from accounts of one to accounts of the
// other: either both ledgers have the transfer, or neither has. A site writes a transfer to its
// ledger, with the money set aside, before it votes to commit, so that it can keep its promise
// after a crash. A site that can't pay votes to abort. A transfer that was aborted because a
// process had died is repeated.
//
// The parent (parent.go) kills one of the three now and then, whatever it is doing, and restarts
// it. In the end it opens both ledgers: every transfer is in both or in neither, nothing is left
// set aside, and the sum of all accounts is unchanged. The program exits with status 0 only then.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/troupe-go/troupe/examples/internal/ground"
)

const txPath = "/transfers"

// The roles. The first argument of a child process is its role.
const (
	siteRole        = "site"
	coordinatorRole = "coordinator"
)

func main() {
	if err := start(os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "transfer:", err)
		os.Exit(1)
	}
}

func start(args []string) error {
	if len(args) > 0 && (args[0] == siteRole || args[0] == coordinatorRole) {
		return play(args[0], args[1:])
	}
	flags := flag.NewFlagSet("transfer", flag.ContinueOnError)
	zk := flags.String("zk", "", "ZooKeeper `servers`, host:port,… (default: one inside this program)")
	transfers := flags.Int("transfers", 60, "how many transfers there are")
	kills := flags.Int("kills", 6, "how often a process is killed")
	if err := flags.Parse(args); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second interrupt ends the program at once
	return ground.Run(ctx, "transfer", *zk, os.Stdout, func(ctx context.Context, g *ground.Ground, out io.Writer) error {
		return parent(ctx, g, *transfers, *kills, out)
	})
}

// play runs a process in a role.
func play(role string, args []string) error {
	var g ground.Ground
	var servers, name, dir string
	var transfers int
	flags := flag.NewFlagSet(role, flag.ContinueOnError)
	flags.StringVar(&servers, "zk", "", "")
	flags.StringVar(&g.Namespace, "namespace", "", "")
	flags.StringVar(&name, "name", "", "")
	flags.StringVar(&dir, "dir", "", "")
	flags.IntVar(&transfers, "transfers", 0, "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	g.Servers = []string{servers}
	ctx, stop := ground.UntilInputEnds(context.Background())
	defer stop()
	if role == siteRole {
		return site(ctx, &g, name, dir)
	}
	return coordinate(ctx, &g, dir, transfers)
}
