// Selectloop is one goroutine that waits for everything at once: a lock, leadership, the session's
// state and jobs, in one select.
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
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"log"
	"time"

	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

func main() {
	zk := flag.String("zk", "", "ZooKeeper `servers`, host:port,… (default: one inside this program)")
	flag.Parse()
	if err := run(context.Background(), *zk); err != nil {
		log.Fatal(err)
	}
}

// run is one goroutine that waits for everything, until it has seen it all: on these servers, or on
// one of its own.
func run(ctx context.Context, zk string) error {
	server, err := zktest.New() // it ends with the program
	if err != nil {
		return err
	}
	embedded := zk == ""
	zk = cmp.Or(zk, server.Servers()[0]) + "/troupe-selectloop-" + rand.Text() // below this everything is removed in the end
	s, err := session.Open(ctx, []string{zk})
	if err != nil {
		return err
	}
	defer session.CloseWithin(s, 5*time.Second) // and what is made with it
	defer s.DeleteAll(ctx, "/")                 //nolint:errcheck // it is only tidier
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
	defer closeAll(ctx, press, leader, consumer)
	states := s.ObserveStatus(ctx)

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
		if embedded && often == 1 && grant != nil && term != nil {
			often = 2
			server.Expire(s.Status().SessionID)
			<-grant.Done()
			<-term.Done()
			fmt.Printf("* the session was ended: the grant is over (%v), and so is the term\n", grant.Err())
		}
	}
	fmt.Printf("seen: %d grants, %d terms, %d jobs\n", grants, terms, jobs)
	return nil
}

// closeAll closes recipes before DeleteAll: an open one would make again what that deletes.
func closeAll(ctx context.Context, recipes ...session.Closer) {
	for _, r := range recipes {
		if err := r.Close(ctx); err != nil {
			log.Print(err)
		}
	}
}
