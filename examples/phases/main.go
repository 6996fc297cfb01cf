// Phases runs a computation in rounds over several workers, none of which may begin a round before
// all have finished the previous one: a double barrier.
//
// # What happens
//
// A rod is hot at one end. In each round every point takes the mean of its neighbours. The rod is
// cut into pieces, one per worker, and a worker needs the points next to its piece as the previous
// round has left them: so all enter a round together, and all leave it together. Half-way, one
// worker's ZooKeeper session is ended: it finishes its piece, arrives again in its next session,
// and the others wait for it, since a round opens only with all its parties.
//
// In the end the rod is compared, bit for bit, with one that was computed without workers. The
// program exits with status 0 only if they are the same.
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

	"golang.org/x/sync/errgroup"

	"github.com/troupe-go/troupe/recipes/barrier"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

const (
	workers = 4
	rounds  = 40
	points  = 4000
	unlucky = 2          // the worker whose session ends
	mishap  = rounds / 2 // the round in which it ends
)

func main() {
	zk := flag.String("zk", "", "ZooKeeper `servers`, host:port,… (default: one inside this program)")
	flag.Parse()
	if err := run(context.Background(), *zk); err != nil {
		log.Fatal(err)
	}
}

// rod has the points of every round. Each piece of a round is written once, by one worker, and read
// only by the workers of the next round.
type rod [rounds + 1][points]float64

// step computes a piece of the next round.
func (r *rod) step(round, from, to int) {
	if from == 0 {
		r[round+1][0] = 1 // the hot end stays hot
	}
	for i := max(from, 1); i < min(to, points-1); i++ {
		r[round+1][i] = (r[round][i-1] + r[round][i+1]) / 2
	}
}

func run(ctx context.Context, zk string) error {
	server, err := zktest.New() // it ends with the program
	if err != nil {
		return err
	}
	namespace := cmp.Or(zk, server.Servers()[0]) + "/troupe-phases-" + rand.Text() // everything in it is removed in the end
	if zk != "" {
		server = nil // no session of yours is expired
	}
	s, err := session.Open(ctx, []string{namespace})
	if err != nil {
		return err
	}
	defer session.CloseWithin(s, 5*time.Second)
	defer s.DeleteAll(ctx, "/") //nolint:errcheck // it is only tidier
	var shared, alone rod
	shared[0][0], alone[0][0] = 1, 1
	all, ctx := errgroup.WithContext(ctx)
	for i := range workers {
		all.Go(func() error { return work(ctx, namespace, server, i, &shared) })
	}
	if err := all.Wait(); err != nil {
		return err
	}
	for round := range rounds {
		alone.step(round, 0, points)
	}
	if shared[rounds] != alone[rounds] {
		return errors.New("the rod differs from the one that was computed without workers")
	}
	fmt.Println("the rod is equal, bit for bit, to the one computed without workers")
	return nil
}

// work is one worker. In each round it enters, computes and leaves.
func work(ctx context.Context, zk string, server *zktest.Server, number int, r *rod) error {
	s, err := session.Open(ctx, []string{zk})
	if err != nil {
		return err
	}
	defer session.CloseWithin(s, 5*time.Second)
	together, err := barrier.NewDouble(s, "/rod", workers, barrier.WithName(fmt.Sprintf("worker-%d", number)))
	if err != nil {
		return err
	}
	for round := range rounds {
		passage, err := together.Enter(ctx) // returns when all workers have arrived, so all have finished the previous round
		if err != nil {
			return fmt.Errorf("worker %d: %w", number, err)
		}
		if number == unlucky && round == mishap && server != nil {
			server.Expire(s.Status().SessionID)
			<-passage.Done()
			fmt.Printf("round %d: worker %d has lost its passage (%v), and finishes its piece\n", passage.Round(), number, passage.Err())
		}
		r.step(round, number*points/workers, (number+1)*points/workers)
		if err := passage.Leave(ctx); err != nil && !errors.Is(err, session.ErrLost) { // a party whose session was lost counts as having left
			return fmt.Errorf("worker %d: %w", number, err)
		}
	}
	return nil
}
