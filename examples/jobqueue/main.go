// Jobqueue is a queue of jobs with retries, priorities, delays and dead letters, and workers that
// fail and die.
//
// # What happens
//
// Thirty jobs are put: two are urgent, one is delayed, one fails twice, and one always fails. Three
// workers (worker.go) take them, each with a session of its own, as processes have. One job is the
// end of its first worker, which loses its claim with its session: the job is delivered to another
// worker, with its attempt counted. The jobs that fail come back after longer and longer pauses;
// the one that always fails becomes a dead letter after three attempts.
//
// Extraordinary events are printed as they happen. The last line is "every job was done once". The
// program exits with status 0 only if that is so, the job that always fails is the only dead
// letter, and nothing is left in the queue.
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

	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

const (
	ordinary = 25
	urgent   = "urgent"
	moody    = "moody"    // fails twice
	later    = "later"    // is delayed
	fatal    = "fatal"    // its first worker ends
	hopeless = "hopeless" // always fails

	attempts = 3
	workers  = 3
)

// open opens the queue, as all workers have it.
func open(s *session.Session) (*queue.Queue, error) {
	return queue.New(s, "/jobs", queue.WithMaxAttempts(attempts), queue.WithDeadLetters("/dead-jobs"),
		queue.WithBackoff(queue.Exponential(100*time.Millisecond, time.Second)))
}

func main() {
	zk := flag.String("zk", "", "ZooKeeper `servers`, host:port,… (default: one inside this program)")
	flag.Parse()
	if err := run(context.Background(), *zk); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, zk string) error {
	server, err := zktest.New() // it ends with the program
	if err != nil {
		return err
	}
	zk = cmp.Or(zk, server.Servers()[0]) + "/troupe-jobqueue-" + rand.Text() // below this everything is removed in the end
	s, err := session.Open(ctx, []string{zk})
	if err != nil {
		return err
	}
	defer session.CloseWithin(s, 5*time.Second)
	defer s.DeleteAll(ctx, "/") //nolint:errcheck // it is only tidier
	jobs, err1 := open(s)
	dead, err2 := queue.New(s, "/dead-jobs")
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	if err := putAll(ctx, jobs); err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	all, running := errgroup.WithContext(running)
	done := make(chan string)
	for i := range workers {
		all.Go(func() error {
			if err := work(running, zk, i, done); running.Err() == nil {
				return err
			}
			return nil // after the end, an error is only its consequence
		})
	}
	err = check(running, jobs, dead, done)
	stop()
	return errors.Join(all.Wait(), err)
}

// putAll puts all jobs, the ordinary ones in one transaction.
func putAll(ctx context.Context, jobs *queue.Queue) error {
	var many [][]byte
	for i := range ordinary {
		many = append(many, fmt.Appendf(nil, "ordinary %d", i))
	}
	_, err := jobs.PutAll(ctx, many)
	put := func(job string, opts ...queue.PutOption) {
		if err == nil {
			_, err = jobs.Put(ctx, []byte(job), opts...)
		}
	}
	put(urgent, queue.WithPriority(-1))
	put(fatal, queue.WithPriority(-1))
	put(later, queue.WithDelay(time.Second))
	put(moody)
	put(hopeless)
	return err
}

// check waits until every job that can be done is done, and the other one is a dead letter. The
// dead letter stays, for an operator who may put it back.
func check(ctx context.Context, jobs, dead *queue.Queue, done <-chan string) error {
	times := make(map[string]int)
	for len(times) < ordinary+4 {
		select {
		case job := <-done:
			if times[job]++; times[job] > 1 {
				return fmt.Errorf("%s was done twice", job)
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	buried, err := dead.Take(ctx) // waits for one
	if err != nil {
		return err
	}
	fmt.Printf("a dead letter: %q\n", buried.Data())
	left, err := jobs.Stats(ctx)
	if err != nil {
		return err
	}
	if left.Items != 0 || string(buried.Data()) != hopeless {
		return fmt.Errorf("%d jobs are left, and the dead letter is %q", left.Items, buried.Data())
	}
	fmt.Println("every job was done once")
	return nil
}
