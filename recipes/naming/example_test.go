package naming_test

// The code of docs/recipes/naming.md, as the page prints it.

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/troupe-go/troupe/recipes/naming"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

var errEnough = errors.New("enough")

// connects says where the primary is, and follows it.
func connects(ctx context.Context, sess *session.Session, connect func(value []byte) error) error {
	names, err := naming.New(sess, "/names")
	if err != nil {
		return err
	}
	if err := names.Bind(ctx, "db/orders/primary", []byte("10.0.0.7:5432")); err != nil {
		return err
	}
	for b := range names.Observe(ctx, "db/orders/primary") { // the current binding, then each newer one
		if err := connect(b.Value); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// Where the databases are.
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

	err = connects(ctx, sess, func(value []byte) error {
		fmt.Println("the primary is at", string(value))
		return errEnough
	})
	fmt.Println(err)
	// Output:
	// the primary is at 10.0.0.7:5432
	// enough
}
