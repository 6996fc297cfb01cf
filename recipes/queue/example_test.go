package queue_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// Items in order, the urgent first; one that fails comes again.
func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	server, err := zktest.New() // it runs inside the example
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	s, err := session.Open(ctx, server.Hosts(), session.WithDialer(server.Dialer()))
	if err != nil {
		log.Fatal(err)
	}
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
