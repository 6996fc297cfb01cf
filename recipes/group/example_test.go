package group_test

// The code of docs/recipes/group.md, as the page prints it.

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/troupe-go/troupe/recipes/group"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

var errEnough = errors.New("enough")

// balances joins the workers, and divides the work among them whenever one comes or goes.
func balances(ctx context.Context, sess *session.Session, hostname string, address []byte, rebalance func(joined, left []group.Member) error) error {
	workers, err := group.New(sess, "/groups/workers")
	if err != nil {
		return err
	}
	me, err := workers.Join(group.Member{Name: hostname, Data: address})
	if err != nil {
		return err
	}
	defer me.Leave(ctx)

	var last group.View
	for view := range workers.Observe(ctx) {
		change := group.Diff(last, view)
		if err := rebalance(change.Joined, change.Left); err != nil {
			return err
		}
		last = view
	}
	return context.Cause(ctx)
}

// open connects to a server that runs inside the example.
func open() (ctx context.Context, server *zktest.Server, sess *session.Session, done func()) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	server, err := zktest.New()
	if err != nil {
		log.Fatal(err)
	}
	sess, err = session.Open(ctx, server.Hosts(), session.WithDialer(server.Dialer()))
	if err != nil {
		log.Fatal(err)
	}
	return ctx, server, sess, func() { sess.Close(ctx); server.Close(); cancel() }
}

// Workers that know of one another.
func Example() {
	ctx, _, sess, done := open()
	defer done()

	err := balances(ctx, sess, "ann", []byte("10.0.0.7"), func(joined, _ []group.Member) error {
		if len(joined) == 0 {
			return nil
		}
		fmt.Printf("%s is at %s\n", joined[0].Name, joined[0].Data)
		return errEnough
	})
	fmt.Println(err)
	// Output:
	// ann is at 10.0.0.7
	// enough
}

// A member changes its data, is listed, and registers again by itself when its session has expired.
func ExampleMembership() {
	ctx, server, sess, done := open()
	defer done()
	workers, err := group.New(sess, "/groups/workers")
	if err != nil {
		log.Fatal(err)
	}
	ann, err := workers.Join(group.Member{Name: "ann", Data: []byte("starting")})
	if err != nil {
		log.Fatal(err)
	}
	defer ann.Leave(ctx)
	if err := ann.Update(ctx, []byte("10.0.0.7")); err != nil { // waits until she is registered
		log.Fatal(err)
	}
	now, err := workers.Members(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s is at %s\n", now.Members[0].Name, now.Members[0].Data)
	_, err = workers.Join(group.Member{Name: "ann"})
	fmt.Println("a second ann:", errors.Is(err, group.ErrDuplicate))

	server.Expire(sess.Status().SessionID) // as after a long partition
	for view := range workers.Observe(ctx) {
		if joined := group.Diff(now, view).Joined; len(joined) > 0 {
			fmt.Printf("%s is back, at %s\n", joined[0].Name, joined[0].Data)
			break
		}
	}
	// Output:
	// ann is at 10.0.0.7
	// a second ann: true
	// ann is back, at 10.0.0.7
}
