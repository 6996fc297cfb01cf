// Workerpool hashes every file of a directory with a pool of worker processes that are killed,
// paused and partitioned while they work, and checks that the result is correct.
//
// # What happens
//
// The program starts itself again, four times. These workers communicate only through ZooKeeper:
//
//	/leader     the candidates: every worker campaigns, one coordinates
//	/batches    a queue of batches: the worker that has claimed one works on it
//	/results/…  the digests of a batch, with the worker and its token
//
// The coordinator (coordinator.go) puts batches into the queue, on condition that its term is
// valid: once it is deposed, ZooKeeper refuses them. A worker (worker.go) takes a batch, hashes its
// files (tree.go), and writes the result, on condition that its claim is valid. If it lost the
// claim while it was paused, ZooKeeper refuses the result, and another worker gets the batch.
//
// This process does none of the work. It watches results arrive, and kills, pauses and partitions
// workers and coordinators at random (pool.go). It prints each fault, and replaces the workers that
// it killed. In the end it hashes everything by itself, and compares. Its last line is "every file
// once, same digests, no result by a stale holder", and it exits with status 0 only if that is so.
package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	mathrand "math/rand/v2"
	"os"
	"os/signal"
	"slices"
	"time"

	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

const (
	leaderPath  = "/leader"
	queuePath   = "/batches"
	resultsPath = "/results"
)

func batchName(n int) string  { return fmt.Sprintf("%06d", n) }
func resultPath(n int) string { return resultsPath + "/" + batchName(n) }

func main() {
	zk := flag.String("zk", "", "ZooKeeper `servers`, host:port,… (default: one inside this program)")
	dir := flag.String("dir", "", "the `directory` to hash (default: the Go source tree)")
	name := flag.String("worker", "", "the `name` of a worker: the program starts itself with it")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // a second interrupt ends the program at once
	begin := tell
	switch {
	case flag.NArg() > 0:
		log.Fatalf("unexpected argument %q", flag.Arg(0))
	case *name != "":
		begin = serve
	}
	if err := begin(ctx, *zk, *dir, *name); err != nil {
		log.Fatal(err)
	}
}

// tell is the main function of this process, on these servers, or on one of its own.
func tell(ctx context.Context, zk, dir, _ string) error {
	t, err := list(dir)
	if err != nil {
		return err
	}
	p := &pool{dir: t.dir}
	if zk == "" {
		if p.server, err = zktest.New(zktest.WithTick(500 * time.Millisecond)); err != nil {
			return err
		}
		zk = p.server.Servers()[0]
	}
	p.zk = zk + "/troupe-workerpool-" + rand.Text() // below this everything is removed in the end
	s, err := session.Open(ctx, []string{p.zk})
	if err != nil {
		return err
	}
	defer session.CloseWithin(s, 5*time.Second)
	defer s.DeleteAll(context.WithoutCancel(ctx), "/") //nolint:errcheck // it is only tidier
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // in any case no process is left
	if _, err := s.Create(ctx, resultsPath, nil); err != nil {
		return err
	}
	fmt.Printf("%d files below %s, in %d batches, through ZooKeeper at %s\n", len(t.files), t.dir, t.batches(), p.zk)
	began := time.Now()
	if err := follow(ctx, s, t, p); err != nil {
		return err
	}
	if err := p.stop(); err != nil {
		return err
	}
	fmt.Printf("all batches are done, after %.1f s, by %d processes; %d writes of stale holders were refused\n",
		time.Since(began).Seconds(), p.started, len(p.refused))

	wrong, err := check(ctx, s, t, p.refused)
	if err != nil {
		return err
	}
	if len(wrong) > 0 {
		return fmt.Errorf("this differs from a serial run: %q", wrong)
	}
	fmt.Println("every file once, same digests, no result by a stale holder")
	return nil
}

// follow starts the workers, and strikes at them until all batches are done.
func follow(ctx context.Context, s *session.Session, t tree, p *pool) error {
	observer, err := election.New(s, leaderPath) // it is no candidate, and ends with the session
	if err != nil {
		return err
	}
	for slot := range p.workers {
		if err := p.launch(ctx, slot); err != nil {
			return err
		}
	}
	faults := p.possible()
	mathrand.Shuffle(len(faults), func(i, j int) { faults[i], faults[j] = faults[j], faults[i] })
	results, leaders := s.WatchChildren(ctx, resultsPath), observer.Observe(ctx)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	leader, struck := "", 0
	for done := 0; done < t.batches(); {
		select {
		case now := <-results:
			done = len(now.Names)
		case now := <-leaders:
			leader = now.Name
		case <-tick.C:
			if err := p.ended(); err != nil {
				return err
			}
			// Faults are spread over the work, not over time: they hit on machines of any speed.
			if struck < len(faults) && done >= (struck+1)*t.batches()/(len(faults)+2) && leader != "" {
				hit, err := p.strike(ctx, faults[struck], leader)
				if err != nil {
					return err
				}
				if hit != "" {
					struck++
					fmt.Printf("%3d%%  %s: %s\n", 100*done/t.batches(), faults[struck-1], hit)
				}
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.Done():
			return s.Err()
		}
	}
	return nil
}

// check hashes all files in this process, and returns the differences in the results. ZooKeeper has
// ensured that each batch has one result; this function checks that none is missing.
func check(ctx context.Context, s *session.Session, t tree, refused []refusal) (wrong []string, err error) {
	for n := range t.batches() {
		text, _, err := s.Get(ctx, resultPath(n))
		if err != nil {
			return nil, err
		}
		var r result
		if err := json.Unmarshal(text, &r); err != nil {
			return nil, err
		}
		if want := t.hash(n); !slices.Equal(r.Sums, want) {
			wrong = append(wrong, fmt.Sprintf("batch %d of %s: %q, want %q", n, r.Worker, r.Sums, want))
		}
		if slices.Contains(refused, refusal{n, r.Token}) {
			wrong = append(wrong, fmt.Sprintf("batch %d: written with token %d, although %s was told that it had lost the claim", n, r.Token, r.Worker))
		}
	}
	names, _, err := s.Children(ctx, resultsPath)
	if len(names) != t.batches() {
		wrong = append(wrong, fmt.Sprintf("there are %d results of %d batches", len(names), t.batches()))
	}
	return wrong, err
}
