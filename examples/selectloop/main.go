// Selectloop is one goroutine that waits for everything at once: a lock, leadership, the session's
// state and jobs, in one select.
//
//	go run ./examples/selectloop            # on a ZooKeeper server inside this program
//	go run ./examples/selectloop -zk zk1:2181
//
// # What happens
//
// The loop shows how Troupe is meant to be used: intents are stated before it, facts arrive in it,
// and no branch ever has to re-arm or reconnect anything. Once the loop holds everything, its
// ZooKeeper session is ended (on the embedded server), so that all of it is lost, and acquired
// again with larger tokens. Each fact is printed as it comes. The program exits with status 0 when
// the loop has seen all of them.
package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/troupe-go/troupe/examples/internal/ground"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/recipes/queue"
)

func main() { ground.Main("selectloop", tell) }

// tell is one goroutine that waits for everything, until it has seen it all.
func tell(ctx context.Context, g *ground.Ground) error {
	s, err := g.Open(ctx)
	if err != nil {
		return err
	}
	defer s.CloseWithin(5 * time.Second) // and what is made with it
	press, err1 := lock.New(s, "/locks/press")
	leader, err2 := election.New(s, "/leaders/press")
	line, err3 := queue.New(s, "/queues/press")
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	consumer, err1 := line.Consume()
	_, err2 = line.PutAll(ctx, [][]byte{[]byte("cover"), []byte("page 1"), []byte("page 2")})
	if err := errors.Join(err1, err2); err != nil {
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
			fmt.Printf("holds the lock, with token %d\n", grant.Token())
		case term = <-leader.Leader():
			terms++
			fmt.Printf("leads, with token %d\n", term.Token())
		case job, open := <-consumer.Items():
			if !open {
				return consumer.Err()
			}
			fmt.Printf("does job %q\n", job.Data())
			if err := job.Ack(ctx); err != nil {
				fmt.Printf("job %q is delivered again: %v\n", job.Data(), err)
				continue
			}
			jobs++
		case now := <-states:
			fmt.Printf("session is %s, epoch %d\n", now.State, now.Epoch)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if g.Embedded != nil && often == 1 && grant != nil && term != nil {
			often = 2
			g.Embedded.Expire(s.Status().SessionID)
			<-grant.Done()
			<-term.Done()
			fmt.Printf("* the session was ended: the grant is over (%v), and so is the term\n", grant.Err())
		}
	}
	fmt.Printf("seen: %d grants, %d terms, %d jobs\n", grants, terms, jobs)
	return nil
}
