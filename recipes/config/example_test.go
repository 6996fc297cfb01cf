package config_test

// The code of docs/recipes/config.md, as the page prints it.

import (
	"cmp"
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
		if !now.Good() {
			continue // there is no value, or its data are bad
		}
		if err := apply(now.Value); err != nil {
			return err
		}
	}
	return cmp.Or(context.Cause(ctx), limits.Err()) // ctx, or the session, has ended
}

// dial connects to a server that runs inside the example.
func dial() (ctx context.Context, sess *session.Session, done func()) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	server, err := zktest.New()
	if err != nil {
		log.Fatal(err)
	}
	sess, err = session.Open(ctx, server.Hosts(), session.WithDialer(server.Dialer()))
	if err != nil {
		log.Fatal(err)
	}
	return ctx, sess, func() { sess.Close(ctx); server.Close(); cancel() }
}

// Limits that all processes share: changed by any of them, followed by all.
func Example() {
	ctx, sess, done := dial()
	defer done()

	err := follows(ctx, sess, func(l Limits) error {
		fmt.Println("rate:", l.Rate)
		return errEnough
	})
	fmt.Println(err)
	// Output:
	// rate: 100
	// enough
}

// A process that starts before anybody has set the limits waits for them. What somebody breaks by
// hand later does not replace them.
func ExampleCell_Await() {
	ctx, sess, done := dial()
	defer done()
	limits, err := config.Open(ctx, sess, "/app/limits", config.JSON[Limits]())
	if err != nil {
		log.Fatal(err)
	}
	defer limits.Close(ctx)
	fmt.Println("limits at the start:", limits.Load().Present)

	if _, err := sess.Create(ctx, "/app/limits", []byte(`{"Rate": 50}`), session.Parents()); err != nil { // an administrator
		log.Fatal(err)
	}
	first, err := limits.Await(ctx)
	fmt.Println("rate:", first.Value.Rate, err)

	if _, err := sess.Set(ctx, "/app/limits", []byte("fifty"), first.Version); err != nil {
		log.Fatal(err)
	}
	for now := range limits.Observe(ctx) {
		if now.Err != nil {
			fmt.Println("bad data:", errors.Is(now.Err, config.ErrBadData))
			fmt.Println("rate:", now.Value.Rate)
			break
		}
	}
	// Output:
	// limits at the start: false
	// rate: 50 <nil>
	// bad data: true
	// rate: 50
}
