// Phases runs a computation in rounds over several workers, none of which may begin a round before
// all have finished the previous one: a double barrier.
//
//	go run ./examples/phases            # on a ZooKeeper server inside this program
//	go run ./examples/phases -zk zk1:2181
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
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/troupe-go/troupe/examples/internal/ground"
	"github.com/troupe-go/troupe/recipes/barrier"
	"github.com/troupe-go/troupe/session"
)

const (
	workers = 4
	rounds  = 40
	points  = 4000
	unlucky = 2          // the worker whose session ends
	mishap  = rounds / 2 // the round in which it ends
)

func main() { ground.Main("phases", tell) }

func tell(ctx context.Context, g *ground.Ground, out io.Writer) error {
	begun := time.Now()
	r := newRod(points)
	lines := make(chan string)
	all, ctx := errgroup.WithContext(ctx)
	for i := range workers {
		all.Go(func() error {
			if err := work(ctx, g, i, r, lines); err != nil {
				return fmt.Errorf("worker %d: %w", i, err)
			}
			return nil
		})
	}
	finished := make(chan error, 1)
	go func() { // ends when the workers have ended
		finished <- all.Wait()
		close(lines)
	}()
	for line := range lines {
		fmt.Fprintln(out, line)
	}
	if err := <-finished; err != nil {
		return err
	}
	fmt.Fprintf(out, "%d rounds of %d workers in %v\n", rounds, workers, time.Since(begun).Round(time.Millisecond))
	if !slices.Equal(r.after(rounds), alone(points, rounds)) {
		return errors.New("the rod differs from the one that was computed without workers")
	}
	fmt.Fprintln(out, "the rod is equal, bit for bit, to the one computed without workers")
	return nil
}

// work is one worker. In each round it enters, computes and leaves.
func work(ctx context.Context, g *ground.Ground, number int, r *rod, lines chan<- string) error {
	s, err := g.Open(ctx)
	if err != nil {
		return err
	}
	defer ground.Close(s)
	rounds, err := barrier.NewDouble(s, "/rod", workers, barrier.WithID(fmt.Sprintf("worker-%d", number)))
	if err != nil {
		return err
	}
	from, to := number*points/workers, (number+1)*points/workers
	for round := range len(r.rounds) - 1 {
		passage, err := rounds.Enter(ctx) // returns when all workers have arrived, so all have finished the previous round
		if err != nil {
			return err
		}
		if number == unlucky && round == mishap && g.Embedded != nil {
			lines <- fmt.Sprintf("round %d: the session of worker %d ends", passage.Round(), number)
			g.Embedded.Expire(s.Status().SessionID)
			<-passage.Done()
			lines <- fmt.Sprintf("round %d: worker %d has lost its passage (%v), and finishes its piece", passage.Round(), number, passage.Err())
		}
		r.step(round, from, to)
		if number == 0 && (round+1)%10 == 0 {
			lines <- fmt.Sprintf("round %d: %d members, hottest point inside %.4f", passage.Round(), len(passage.Members()), r.after(round + 1)[1])
		}
		if err := passage.Leave(ctx); err != nil && !errors.Is(err, session.ErrLost) { // a party whose session was lost counts as having left
			return err
		}
	}
	return nil
}
