package queue_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// connect connects to a server that runs inside the example.
func connect(ctx context.Context) (*zktest.Server, *session.Session) {
	server, err := zktest.New()
	if err != nil {
		log.Fatal(err)
	}
	s, err := session.Open(ctx, server.Hosts(), session.WithDialer(server.Dialer()))
	if err != nil {
		log.Fatal(err)
	}
	return server, s
}

// Items in order, the urgent first; one that fails comes again.
func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	server, s := connect(ctx)
	defer server.Close()
	defer s.Close(ctx)

	orders, err := queue.New(s, "/queues/orders")
	if err != nil {
		log.Fatal(err)
	}
	for _, order := range []string{"tea", "coffee"} {
		if _, err := orders.Put(ctx, []byte(order)); err != nil {
			log.Fatal(err)
		}
	}
	if _, err := orders.Put(ctx, []byte("water"), queue.WithPriority(-1)); err != nil {
		log.Fatal(err)
	}
	consumer, err := orders.Consume()
	if err != nil {
		log.Fatal(err)
	}
	defer consumer.Close(ctx)
	for range 4 {
		item := <-consumer.Items()
		fmt.Printf("%s, attempt %d\n", item.Data(), item.Attempt())
		if string(item.Data()) == "coffee" && item.Attempt() == 1 {
			_ = item.Nack(ctx) // the machine is cold
			continue
		}
		if err := item.Ack(ctx); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// water, attempt 1
	// tea, attempt 1
	// coffee, attempt 1
	// coffee, attempt 2
}

// A consumer that is cut off loses its item; the next gets it, and the first can't acknowledge it
// any more.
func ExampleItem_Ack() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	server, s := connect(ctx)
	defer server.Close()
	defer s.Close(ctx)
	orders, err := queue.New(s, "/queues/orders")
	if err != nil {
		log.Fatal(err)
	}
	if _, err := orders.Put(ctx, []byte("tea")); err != nil {
		log.Fatal(err)
	}
	first, err := orders.Take(ctx)
	if err != nil {
		log.Fatal(err)
	}
	server.Expire(s.Status().SessionID) // as a long partition would
	<-first.Done()
	second, err := orders.Take(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("again: %s, attempt %d\n", second.Data(), second.Attempt())
	fmt.Println("the first has lost it:", errors.Is(first.Ack(ctx), session.ErrLost))
	fmt.Println("the second acknowledges:", second.Ack(ctx))
	// Output:
	// again: tea, attempt 2
	// the first has lost it: true
	// the second acknowledges: <nil>
}
