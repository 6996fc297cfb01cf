// The program of docs/tutorial.md, step by step as the page tells it.
package main

import (
	"context"
	"errors"
	"flag"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/session"
)

func main() {
	if err := service(); err != nil {
		slog.New(slog.NewTextHandler(os.Stderr, nil)).Error("the service has failed", "error", err)
		os.Exit(1)
	}
}

func service() error {
	servers := flag.String("zk", "127.0.0.1:2181", "ZooKeeper servers")
	name := flag.String("name", "one", "name of this process")
	listen := flag.String("listen", "127.0.0.1:8080", "address of the status page")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return run(ctx, slog.New(slog.NewTextHandler(os.Stderr, nil)), strings.Split(*servers, ","), *name, *listen)
}

func run(ctx context.Context, log *slog.Logger, servers []string, name, listen string) error {
	sess, err := session.Open(ctx, servers, session.WithLogger(log))
	if err != nil {
		return err
	}
	defer session.CloseWithin(sess, 5*time.Second)

	leader, err := election.New(sess, "/reports/leader", election.WithName(name))
	if err != nil {
		return err
	}
	defer session.CloseWithin(leader, 5*time.Second)

	page, err := serveStatus(ctx, listen, sess, leader)
	if err != nil {
		return err
	}
	defer page.stop()

	err = leader.Run(ctx, func(ctx context.Context, term *election.Term) error {
		log.Info("this process leads", "token", term.Token())
		return write(ctx, sess, term, name)
	})
	if errors.Is(err, context.Canceled) {
		return nil // the service was asked to stop
	}
	return err
}
