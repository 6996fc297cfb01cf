package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/troupe-go/troupe/examples/internal/ground"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
)

// work is a worker process: it takes jobs until ctx ends.
func work(ctx context.Context, g *ground.Ground, name string, _ []string) error {
	s, err := g.Open(ctx, session.WithTimeout(2*time.Second)) // short, so that its work is soon taken over
	if err != nil {
		return err
	}
	defer ground.Close(s)
	jobs, err := open(s)
	if err != nil {
		return err
	}
	claimed, err := jobs.Consume()
	if err != nil {
		return err
	}
	defer ground.Close(claimed)
	for {
		select {
		case <-ctx.Done():
			return nil
		case job, open := <-claimed.Items():
			if !open {
				return claimed.Err()
			}
			err := handle(ctx, name, job)
			if errors.Is(err, session.ErrLost) { // with the session: the job is another worker's
				fmt.Printf("%s has lost %q\n", name, job.Data())
			} else if err != nil {
				return err
			}
		}
	}
}

// handle does a job and acknowledges it, or returns it to the queue.
func handle(ctx context.Context, name string, job *queue.Item) error {
	failure := do(name, job)
	if failure == nil {
		err := job.Ack(ctx)
		if err == nil {
			fmt.Printf("done: %s\n", job.Data())
		}
		return err
	}
	fmt.Printf("%s returns %q after attempt %d: %v\n", name, job.Data(), job.Attempt(), failure)
	if string(job.Data()) == moody {
		return job.Nack(ctx, queue.After(200*time.Millisecond))
	}
	return job.Nack(ctx) // the queue's back-off says when it comes back
}

// do does the job.
func do(name string, job *queue.Item) error {
	switch data := string(job.Data()); {
	case data == fatal && job.Attempt() == 1:
		fmt.Printf("%s dies of %q\n", name, data)
		os.Exit(1)
	case data == fatal:
		fmt.Printf("%s does %q, at attempt %d\n", name, data, job.Attempt())
	case data == hopeless, data == moody && job.Attempt() < attempts:
		return errors.New("not in the mood")
	}
	return nil
}
