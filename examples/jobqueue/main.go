// Jobqueue is a queue of jobs with retries, priorities, delays and dead letters, and workers that
// fail and die.
//
//	go run ./examples/jobqueue            # on a ZooKeeper server inside this program
//	go run ./examples/jobqueue -zk zk1:2181
//
// # What happens
//
// This process puts thirty-one jobs: some are urgent, one is delayed, one fails twice, one kills
// its first worker, and one always fails. Three worker processes (worker.go) take them. The worker
// that dies in the middle of a job loses its claim with its session: the job is delivered to
// another, with its attempt counted. The job that fails twice asks for a pause of its own and is
// returned until it succeeds; the one that always fails comes back after longer and longer pauses,
// and becomes a dead letter after three attempts.
//
// What is not ordinary is printed as it happens. The last line is "every job was done once". The
// program exits with status 0 only if that is so, the job that always fails is the only dead
// letter, and nothing is left in the queue.
package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/troupe-go/troupe/examples/internal/ground"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
)

const (
	ordinary = 24
	urgent   = 3
	moody    = "moody"    // fails twice
	later    = "later"    // is delayed
	fatal    = "fatal"    // kills its first worker
	hopeless = "hopeless" // fails always

	attempts = 3
	workers  = 3
)

// open opens the queue, as all processes have it.
func open(s *session.Session) (*queue.Queue, error) {
	return queue.New(s, "/jobs", queue.WithMaxAttempts(attempts), queue.WithDeadLetters("/dead-jobs"),
		queue.WithBackoff(queue.Exponential(100*time.Millisecond, time.Second)))
}

func main() {
	ground.Launched(work)
	ground.Main("jobqueue", tell)
}

//nolint:funlen // one story, from beginning to end
func tell(ctx context.Context, g *ground.Ground, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // whatever happens, no process is left
	s, err := g.Open(ctx)
	if err != nil {
		return err
	}
	defer ground.Close(s)
	jobs, err := open(s)
	if err != nil {
		return err
	}
	if err := putAll(ctx, jobs); err != nil {
		return err
	}
	var mu sync.Mutex
	times, complete := make(map[string]int), make(chan struct{}) // closed when every job that can be done is done
	heard := func(line string) {
		mu.Lock()
		defer mu.Unlock()
		job, done := strings.CutPrefix(line, "done: ")
		if !done {
			fmt.Fprintln(out, line)
			return
		}
		if times[job]++; times[job] == 1 && len(times) == ordinary+urgent+3 {
			close(complete)
		}
	}
	var all []*ground.Process
	for i := range workers {
		p, err := g.Launch(ctx, fmt.Sprintf("worker %d", i+1), heard)
		if err != nil {
			return err
		}
		all = append(all, p)
	}
	dead, err := queue.New(s, "/dead-jobs")
	if err != nil {
		return err
	}
	buried, err := dead.Take(ctx) // waits for one
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "a dead letter: %q\n", buried.Data())
	select {
	case <-complete:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	died := 0
	for _, p := range all {
		if p.Stop() != nil {
			died++
		}
	}
	left, err := jobs.Len(ctx)
	if err != nil {
		return err
	}
	twice := slices.ContainsFunc(slices.Collect(maps.Values(times)), func(n int) bool { return n != 1 })
	if died != 1 || left != 0 || twice || times[hopeless] != 0 || string(buried.Data()) != hopeless {
		return fmt.Errorf("%d workers died, %d jobs are left, the dead letter is %q, and these were done: %v", died, left, buried.Data(), times)
	}
	fmt.Fprintln(out, "every job was done once")
	return nil // the dead letter stays where it is: for an operator, who may put it back
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
	for i := range urgent {
		put(fmt.Sprintf("urgent %d", i), queue.WithPriority(-1))
	}
	put(fatal, queue.WithPriority(-1))
	put(later, queue.WithDelay(time.Second))
	put(moody)
	put(hopeless)
	return err
}
