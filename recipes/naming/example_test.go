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

// open connects to a server that runs inside the example.
func open() (ctx context.Context, sess *session.Session, done func()) {
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

// Where the databases are.
func Example() {
	ctx, sess, done := open()
	defer done()

	err := connects(ctx, sess, func(value []byte) error {
		fmt.Println("the primary is at", string(value))
		return errEnough
	})
	fmt.Println(err)
	// Output:
	// the primary is at 10.0.0.7:5432
	// enough
}

// A name is taken once; names are listed, and unbound.
func ExampleNames() {
	ctx, sess, done := open()
	defer done()
	names, err := naming.New(sess, "/names")
	if err != nil {
		log.Fatal(err)
	}
	defer names.Close(ctx)

	if err := names.Bind(ctx, "db/orders/primary", []byte("10.0.0.7:5432"), naming.WithoutReplacing()); err != nil {
		log.Fatal(err)
	}
	err = names.Bind(ctx, "db/orders/primary", []byte("10.0.0.8:5432"), naming.WithoutReplacing())
	fmt.Println("bound already:", errors.Is(err, naming.ErrBound))
	if err := names.Bind(ctx, "db/orders/replica", []byte("10.0.0.8:5432")); err != nil {
		log.Fatal(err)
	}
	all, err := names.List(ctx, "db")
	if err != nil {
		log.Fatal(err)
	}
	for _, b := range all {
		fmt.Printf("%s: %s\n", b.Name, b.Value)
	}
	if err := names.Unbind(ctx, "db/orders/replica"); err != nil {
		log.Fatal(err)
	}
	_, err = names.Lookup(ctx, "db/orders/replica")
	fmt.Println("not bound any longer:", errors.Is(err, naming.ErrNotBound))
	// Output:
	// bound already: true
	// db/orders/primary: 10.0.0.7:5432
	// db/orders/replica: 10.0.0.8:5432
	// not bound any longer: true
}
