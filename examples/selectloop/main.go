// Selectloop is one goroutine that waits for everything at once: a lock, leadership, the session's
// state and jobs, in one select.
//
//	go run ./examples/selectloop            # on a ZooKeeper server inside this program
//	go run ./examples/selectloop -zk zk1:2181
//
// # What happens
//
// The loop shows how Troupe is meant to be used: intents are stated before it, facts arrive in it,
// and no branch ever has to re-arm or reconnect anything. A neighbour holds the lock first and
// releases it, leads first and resigns, and puts jobs into the queue. Once the loop holds
// everything, its ZooKeeper session is ended (on the embedded server), so that all of it is lost,
// and acquired again with larger tokens. Each fact is printed as it comes. The program exits with
// status 0 when the loop has seen all of them.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/troupe-go/troupe/examples/internal/ground"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/recipes/queue"
)

const (
	lockPath     = "/locks/press"
	electionPath = "/leaders/press"
	queuePath    = "/queues/press"
)

func main() { ground.Main("selectloop", tell) }

func tell(ctx context.Context, g *ground.Ground, out io.Writer) error {
	all, ctx := errgroup.WithContext(ctx)
	ready := make(chan struct{})
	all.Go(func() error { return neighbour(ctx, g, ready) })
	select {
	case <-ready:
		all.Go(func() error { return loop(ctx, g, out) })
	case <-ctx.Done():
	}
	return all.Wait()
}

// loop is one goroutine that waits for everything, until it has seen it all.
func loop(ctx context.Context, g *ground.Ground, out io.Writer) error {
	s, err := g.Open(ctx)
	if err != nil {
		return err
	}
	defer ground.Close(s) // and what is made with it
	press, err1 := lock.New(s, lockPath)
	leader, err2 := election.New(s, electionPath)
	line, err3 := queue.New(s, queuePath)
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	consumer, err := line.Consume()
	if err != nil {
		return err
	}
	states := s.Observe(ctx)

	press.Acquire()   // intents: stated once
	leader.Campaign() // …

	var grant *lock.Grant
	var term *election.Term
	grants, terms, jobs, often := 0, 0, 0, 1
	for grants < often || terms < often || jobs < 3 {
		select { // facts: as they come
		case grant = <-press.Acquired():
			grants++
			fmt.Fprintf(out, "holds the lock, with token %d\n", grant.Token())
		case term = <-leader.Leader():
			terms++
			fmt.Fprintf(out, "leads, with token %d\n", term.Token())
		case job, open := <-consumer.Items():
			if !open {
				return consumer.Err()
			}
			fmt.Fprintf(out, "does job %q\n", job.Data())
			if err := job.Ack(ctx); err != nil {
				fmt.Fprintf(out, "job %q is delivered again: %v\n", job.Data(), err)
				continue
			}
			jobs++
		case now := <-states:
			fmt.Fprintf(out, "session is %s, epoch %d\n", now.State, now.Epoch)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if g.Embedded != nil && often == 1 && grant != nil && term != nil {
			often = 2
			g.Embedded.Expire(s.Status().SessionID)
			<-grant.Done()
			<-term.Done()
			fmt.Fprintf(out, "* the session was ended: the grant is over (%v), and so is the term\n", grant.Err())
		}
	}
	fmt.Fprintf(out, "seen: %d grants, %d terms, %d jobs\n", grants, terms, jobs)
	return nil
}

// neighbour stands for another process. It holds what the loop wants, and releases one after the
// other, so slowly that a reader can follow.
func neighbour(ctx context.Context, g *ground.Ground, ready chan<- struct{}) error {
	s, err := g.Open(ctx)
	if err != nil {
		return err
	}
	defer ground.Close(s)
	press, err1 := lock.New(s, lockPath)
	leader, err2 := election.New(s, electionPath)
	line, err3 := queue.New(s, queuePath)
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	grant, err1 := press.Lock(ctx)
	term, err2 := leader.Lead(ctx)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	close(ready)
	put := func(ctx context.Context) error {
		_, err := line.Put(ctx, []byte("print"))
		return err
	}
	for _, step := range []func(context.Context) error{grant.Release, put, term.Resign, put, put} {
		time.Sleep(100 * time.Millisecond)
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}
