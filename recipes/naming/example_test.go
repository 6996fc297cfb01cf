package naming_test

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

// connect connects to a server that runs inside the example.
func connect(ctx context.Context) (*zktest.Server, *session.Session, *naming.Names) {
	server, err := zktest.New()
	if err != nil {
		log.Fatal(err)
	}
	s, err := session.Open(ctx, server.Hosts(), session.WithDialer(server.Dialer()))
	if err != nil {
		log.Fatal(err)
	}
	names, err := naming.New(s, "/names")
	if err != nil {
		log.Fatal(err)
	}
	return server, s, names
}

// Where the databases are.
func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	server, s, names := connect(ctx)
	defer server.Close()
	defer s.Close(ctx)

	for name, addr := range map[string]string{"db/orders/primary": "10.0.0.7:5432", "db/orders/replica": "10.0.0.8:5432"} {
		if err := names.Bind(ctx, name, []byte(addr)); err != nil {
			log.Fatal(err)
		}
	}
	primary, err := names.Lookup(ctx, "db/orders/primary")
	fmt.Println(string(primary.Value), err)
	all, err := names.List(ctx, "db")
	for _, b := range all {
		fmt.Println(b.Name, string(b.Value))
	}
	fmt.Println(err)
	// Output:
	// 10.0.0.7:5432 <nil>
	// db/orders/primary 10.0.0.7:5432
	// db/orders/replica 10.0.0.8:5432
	// <nil>
}

// What becomes of a name that is taken, and of one that is unbound while somebody observes it.
func ExampleNames_Observe() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	server, s, names := connect(ctx)
	defer server.Close()
	defer s.Close(ctx)

	fmt.Println("first:", names.Bind(ctx, "printer", []byte("upstairs"), naming.IfFree()))
	fmt.Println("second is refused:", errors.Is(names.Bind(ctx, "printer", []byte("downstairs"), naming.IfFree()), naming.ErrBound))
	states := names.Observe(ctx, "printer")
	b := <-states
	fmt.Println("bound:", b.Bound, string(b.Value))
	if err := names.Unbind(ctx, "printer"); err != nil {
		log.Fatal(err)
	}
	b = <-states
	fmt.Println("bound:", b.Bound)
	// Output:
	// first: <nil>
	// second is refused: true
	// bound: true upstairs
	// bound: false
}
