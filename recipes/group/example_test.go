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
	me, err := workers.Join(group.Member{ID: hostname, Data: address})
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

// Workers that know of one another.
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

	err = balances(ctx, sess, "ann", []byte("10.0.0.7"), func(joined, _ []group.Member) error {
		if len(joined) == 0 {
			return nil
		}
		fmt.Printf("%s is at %s\n", joined[0].ID, joined[0].Data)
		return errEnough
	})
	fmt.Println(err)
	// Output:
	// ann is at 10.0.0.7
	// enough
}
