package fence_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/troupe-go/troupe/recipes/fence"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// A service is asked to act for the holder of a lock, and has a session of its own to check that
// with.
func ExampleFollow() {
	ctx := context.Background()
	server, err := zktest.New()
	if err != nil {
		panic(err)
	}
	defer server.Close()
	clients, err := session.Open(ctx, server.Hosts(), session.WithDialer(server.Dialer()))
	if err != nil {
		panic(err)
	}
	defer clients.Close(ctx)
	services, err := session.Open(ctx, server.Hosts(), session.WithDialer(server.Dialer()))
	if err != nil {
		panic(err)
	}
	defer services.Close(ctx)

	// The client takes the lock and sends its sequencer along.
	orders, err := lock.New(clients, "/locks/orders")
	if err != nil {
		panic(err)
	}
	grant, err := orders.Lock(ctx)
	if err != nil {
		panic(err)
	}
	header := grant.Sequencer().String()

	// The service works for as long as the client holds the lock.
	q, err := fence.Parse(header)
	if err != nil {
		panic(err)
	}
	work, err := fence.Follow(ctx, services, q)
	fmt.Println("accepted:", err == nil)
	if err := grant.Release(ctx); err != nil {
		panic(err)
	}
	<-work.Done()
	fmt.Println("fenced:", errors.Is(context.Cause(work), fence.ErrFenced))
	fmt.Println("refused:", errors.Is(fence.Check(ctx, services, q), fence.ErrFenced))
	// Output:
	// accepted: true
	// fenced: true
	// refused: true
}
