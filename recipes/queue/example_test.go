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

// open connects to a server that runs inside the example.
func open() (ctx context.Context, s *session.Session, done func()) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	server, err := zktest.New()
	if err != nil {
		log.Fatal(err)
	}
	s, err = session.Open(ctx, server.Hosts(), session.WithDialer(server.Dialer()))
	if err != nil {
		log.Fatal(err)
	}
	return ctx, s, func() { s.Close(ctx); server.Close(); cancel() }
}

// Items in order, the urgent first; one that fails comes again.
func Example() {
	ctx, s, done := open()
	defer done()

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

// An item that fails too often becomes a dead letter. When the cause is gone, it is put back.
func ExampleQueue_Requeue() {
	ctx, s, done := open()
	defer done()
	orders, err := queue.New(s, "/queues/orders", queue.WithMaxAttempts(2), queue.WithDeadLetters("/queues/failed"))
	if err != nil {
		log.Fatal(err)
	}
	if _, err := orders.Put(ctx, []byte("tea"), queue.WithID("order-17")); err != nil {
		log.Fatal(err)
	}
	for range 2 {
		item, err := orders.Take(ctx)
		if err != nil {
			log.Fatal(err)
		}
		if err := item.Nack(ctx, queue.WithPause(0)); err != nil { // it failed: again, without a pause
			log.Fatal(err)
		}
	}
	_, err = orders.Peek(ctx)
	fmt.Println("nothing waits:", errors.Is(err, queue.ErrEmpty))

	failed, err := queue.New(s, "/queues/failed")
	if err != nil {
		log.Fatal(err)
	}
	dead, err := failed.Peek(ctx)
	fmt.Printf("%s failed: %s %v\n", dead.ID, dead.Data, err)
	if err := orders.Requeue(ctx, dead.ID); err != nil {
		log.Fatal(err)
	}
	again, err := orders.Peek(ctx)
	fmt.Println(again.ID, "waits, with attempts:", again.Attempts, err)
	// Output:
	// nothing waits: true
	// order-17 failed: tea <nil>
	// order-17 waits, with attempts: 0 <nil>
}
