package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/session"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := lead(ctx, os.Args[1:], bill); err != nil && ctx.Err() == nil {
		log.Fatal(err)
	}
}

func lead(ctx context.Context, servers []string, bill func(context.Context, int64)) error {
	sess, err := session.Open(ctx, servers) // "zk1:2181", "zk2:2181", "zk3:2181"
	if err != nil {
		return err
	}
	defer sess.CloseWithin(5 * time.Second) // another process leads at once

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
	log.Println("this process leads, with token", token)
	<-ctx.Done()
}
