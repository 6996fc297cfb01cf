// Leader is the program that README.md shows: of all that run it, one process at a time works.
package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/session"
)

var log = slog.New(slog.NewTextHandler(os.Stderr, nil))

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := lead(ctx, os.Args[1:], bill)
	stop()
	if !errors.Is(err, context.Canceled) { // not an orderly shutdown
		log.Error("billing has ended", "error", err)
		os.Exit(1)
	}
}

func lead(ctx context.Context, servers []string, bill func(context.Context, int64)) error {
	sess, err := session.Open(ctx, servers) // "zk1:2181", "zk2:2181", "zk3:2181"
	if err != nil {
		return err
	}
	defer session.CloseWithin(sess, 5*time.Second) // hands over to another process at once

	leader, err := election.New(sess, "/services/billing/leader")
	if err != nil {
		return err
	}
	return leader.Run(ctx, func(ctx context.Context, term *election.Term) error { // called for each term
		bill(ctx, term.Token()) // ctx ends with the term; the next term starts only after this returns
		return nil              // resign and campaign again
	})
}

func bill(ctx context.Context, token int64) {
	log.Info("this process leads", "token", token)
	<-ctx.Done()
}
