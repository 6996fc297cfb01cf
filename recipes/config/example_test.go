package config_test

// The code of docs/recipes/config.md, as the page prints it.

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/troupe-go/troupe/recipes/config"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

var errEnough = errors.New("enough")

type Limits struct{ Rate int }

// follows raises the limit, and applies it and each later one.
func follows(ctx context.Context, sess *session.Session, apply func(Limits) error) error {
	limits, err := config.Open(ctx, sess, "/app/limits", config.JSON[Limits]())
	if err != nil {
		return err
	}
	defer limits.Close(ctx)

	_, err = limits.Update(ctx, func(l Limits) (Limits, error) { // compare-and-set
		l.Rate += 100
		return l, nil
	})
	if err != nil {
		return err
	}
	for now := range limits.Observe(ctx) { // the current state, then each newer one
		if err := apply(now.Value); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// Limits that all processes share: changed by any of them, followed by all.
func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	server, err := zktest.New() // a server that runs inside the example
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	sess, err := session.Open(ctx, server.Hosts(), session.WithDialer(server.Dialer()))
	if err != nil {
		log.Fatal(err)
	}
	defer sess.Close(ctx)

	err = follows(ctx, sess, func(l Limits) error {
		if l.Rate == 0 { // the state before
			return nil
		}
		fmt.Println("rate:", l.Rate)
		return errEnough
	})
	fmt.Println(err)
	// Output:
	// rate: 100
	// enough
}
