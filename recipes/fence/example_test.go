package fence_test

// How fences are used, by a service that asks ZooKeeper and by one that cannot.

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/troupe-go/troupe/recipes/fence"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// store is a resource that can't ask ZooKeeper. It keeps the fence where it keeps the data.
type store struct {
	mu   sync.Mutex
	gate fence.Gate
	data string
}

func (s *store) write(sequencer, data string) error {
	q, err := fence.Parse(sequencer)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.gate.Admit(q); err != nil {
		return err
	}
	s.data = data
	return nil
}

// A holder that was paused wakes up when somebody else has long been holding the lock, and writes.
// The resource refuses it.
func ExampleGate() {
	paused := fence.Sequencer{Path: "/locks/orders/_c_5f-lock-0000000001", Mode: fence.Exclusive, Token: 4294967300, SessionID: 0x10001}
	next := fence.Sequencer{Path: "/locks/orders/_c_a3-lock-0000000002", Mode: fence.Exclusive, Token: 4294967342, SessionID: 0x10002}

	var s store
	fmt.Println(s.write(paused.String(), "by the first"))
	fmt.Println(s.write(next.String(), "by the second"))
	fmt.Println(errors.Is(s.write(paused.String(), "by the first, late"), fence.ErrFenced))
	fmt.Println(s.data)
	// Output:
	// <nil>
	// <nil>
	// true
	// by the second
}

func ExampleParse() {
	q, err := fence.Parse("exclusive:4294967338:0x1000a3b5c2d0001:/locks/orders/_c_3e6c-lock-0000000007")
	fmt.Println(q.Token, q.Path, err)
	_, err = fence.Parse("exclusive:first:0x1:/locks/orders")
	fmt.Println(err)
	// Output:
	// 4294967338 /locks/orders/_c_3e6c-lock-0000000007 <nil>
	// parse: not a sequencer: token "first" is not a number of 64 bits
}

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
