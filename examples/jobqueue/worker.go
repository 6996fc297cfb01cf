package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
)

// work is a worker. It takes jobs until ctx ends, or a job is its end.
func work(ctx context.Context, zk string, number int, done chan<- string) error {
	s, err := session.Open(ctx, []string{zk})
	if err != nil {
		return err
	}
	defer session.CloseWithin(s, 5*time.Second)
	jobs, err := open(s)
	if err != nil {
		return err
	}
	consumer, err := jobs.Consume()
	if err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case job, open := <-consumer.Items():
			if !open {
				return consumer.Err()
			}
			if string(job.Data()) == fatal && job.Attempt() == 1 {
				fmt.Printf("worker %d ends over %q\n", number, job.Data())
				return nil
			}
			err := handle(ctx, number, job, done)
			if errors.Is(err, session.ErrLost) { // with the session: the job is another worker's
				fmt.Printf("worker %d has lost %q\n", number, job.Data())
			} else if err != nil {
				return err
			}
		}
	}
}

// handle does a job and acknowledges it, or returns it to the queue.
func handle(ctx context.Context, number int, job *queue.Item, done chan<- string) error {
	name := string(job.Data())
	if name == hopeless || name == moody && job.Attempt() < attempts {
		fmt.Printf("worker %d returns %q after attempt %d\n", number, name, job.Attempt())
		return job.Nack(ctx) // the queue's back-off says when it comes back
	}
	if err := job.Ack(ctx); err != nil {
		return err
	}
	select {
	case done <- name:
	case <-ctx.Done():
	}
	return nil
}
