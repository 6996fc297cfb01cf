// Jobqueue is a queue of jobs with retries, priorities and dead letters, and workers that fail and
// die.
//
//	go run ./examples/jobqueue            # on a ZooKeeper server inside this program
//	go run ./examples/jobqueue -zk zk1:2181
//
// # What happens
//
// A producer puts thirty-one jobs: some are urgent, one is delayed, one kills its first worker, one
// fails twice, and one always fails. Three workers, each with its own session, take them. One
// worker dies in the middle of a job: the job is delivered to another, with its attempt counted.
// The job that fails twice asks for a pause of its own each time, and is returned, with its
// priority, until it succeeds; the one that always fails comes back after longer and longer
// pauses, and becomes a dead letter after three attempts. A znode that means nothing lies among the
// jobs: it is skipped, and reported.
//
// The program exits with status 0 only if every job was done exactly once, except the one that
// always fails, which is the only dead letter, and nothing is left in the queue.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/troupe-go/troupe/examples/internal/ground"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
)

const (
	queuePath = "/jobs"
	deadPath  = "/dead-jobs"
	attempts  = 3
	workers   = 3
)

func main() { ground.Main("jobqueue", tell) }

func tell(ctx context.Context, g *ground.Ground, out io.Writer) error {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("the jobs were not done within a minute"))
	defer cancel()
	s, err := g.Open(ctx)
	if err != nil {
		return err
	}
	defer ground.Close(s)
	line, err := newLine(s)
	if err != nil {
		return err
	}
	dead, err := queue.New(s, deadPath)
	if err != nil {
		return err
	}
	if err := putAll(ctx, line); err != nil {
		return err
	}
	if _, err := s.Create(ctx, queuePath+"/items/0-0000000000/litter", nil); err != nil {
		return err
	}
	n, err := line.Len(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d jobs are in the queue\n", n)

	ledger := newLedger(out)
	if err := work(ctx, g, ledger); err != nil {
		return err
	}
	returned, err := dead.Take(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "a dead letter: %q\n", returned.Data())
	if err := returned.Ack(ctx); err != nil {
		return err
	}
	return verdict(ctx, line, dead, ledger, string(returned.Data()), out)
}

// newLine is the queue as all processes have it.
func newLine(s *session.Session) (*queue.Queue, error) {
	return queue.New(s, queuePath, queue.WithMaxAttempts(attempts), queue.WithDeadLetters(deadPath),
		queue.WithBackoff(queue.Exponential(100*time.Millisecond, time.Second)))
}

// work runs the workers until every job that can be done is done, and the other one has failed as
// often as it may.
func work(ctx context.Context, g *ground.Ground, ledger *ledger) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // ends when the work is done, or with ctx
		select {
		case <-ledger.finished:
			cancel()
		case <-ctx.Done():
		}
	}()
	var all errgroup.Group
	for i := range workers {
		all.Go(func() error { return newWorker(g, i, ledger).run(ctx) })
	}
	return all.Wait()
}

// verdict checks the result.
func verdict(ctx context.Context, line, dead *queue.Queue, ledger *ledger, returned string, out io.Writer) error {
	left, err := line.Len(ctx)
	if err != nil {
		return err
	}
	more, err := dead.Len(ctx)
	if err != nil {
		return err
	}
	if left != 0 || more != 0 || returned != hopeless {
		return fmt.Errorf("%d jobs and %d dead letters are left; the dead letter was %q", left, more, returned)
	}
	if err := ledger.check(); err != nil {
		return err
	}
	fmt.Fprintf(out, "every job was done once; %d deliveries in all\n", ledger.delivered())
	return nil
}
