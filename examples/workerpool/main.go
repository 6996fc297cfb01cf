// Workerpool hashes every file of a directory with a pool of worker processes that are killed,
// paused and partitioned while they work, and checks that the result is correct.
//
//	go run ./examples/workerpool                       # the Go source tree, on a ZooKeeper server inside this program
//	go run ./examples/workerpool -zk zk1:2181,zk2:2181 # the same on yours, below a namespace that is removed afterwards
//
// # What happens
//
// The program starts itself again, once for each worker. Workers communicate only through
// ZooKeeper:
//
//	/leader     the candidates: every worker campaigns, one coordinates
//	/cursor     how far the tree has been handed out
//	/open/…     batches that are handed out and not done
//	/batches    their numbers, in a queue: the worker that has one claimed works on the batch
//	/results/…  what was done, by which worker, with which token
//
// The coordinator (coordinator.go) opens batches and moves the cursor in one transaction, on
// condition that its term is valid ([session.Hold.Commit]): once it is deposed, ZooKeeper refuses
// the transaction. Its successor continues at the cursor.
//
// A worker (worker.go) takes the number of a batch from the queue, hashes the files, and writes the
// result and removes the batch in one transaction, on condition that its claim is valid. If it lost
// the claim while it was paused, ZooKeeper refuses the transaction, and another worker gets the
// number.
//
// The parent (run.go) does none of this work. It watches results arrive (board.go), replaces
// workers that were killed (pool.go), and injects the faults (chaos.go): each kind at least once
// while there is work, and some more at random. In the end it hashes everything again by itself,
// and compares (verify.go). It exits with status 0 only if every file was done exactly once, with
// the same digest, and no result was written by a stale holder.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/troupe-go/troupe/session"
)

// workerRole as the first argument makes this process a worker. It is internal: users do not type
// it.
const workerRole = "worker"

func main() {
	if err := start(os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "workerpool:", err)
		os.Exit(1)
	}
}

func start(args []string) error {
	if len(args) > 0 && args[0] == workerRole {
		return beWorker(args[1:])
	}
	return beParent(args)
}

func beParent(args []string) error {
	var cfg config
	flags := flag.NewFlagSet("workerpool", flag.ContinueOnError)
	flags.StringVar(&cfg.dir, "dir", "", "`directory` to hash (default: the Go source tree)")
	flags.StringVar(&cfg.servers, "zk", "", "ZooKeeper `servers`, host:port,… (default: an embedded server)")
	flags.IntVar(&cfg.workers, "workers", 4, "worker processes")
	flags.IntVar(&cfg.batch, "batch", 0, "files in a batch (default: chosen by the size of the tree)")
	flags.DurationVar(&cfg.timeout, "session", 2*time.Second, "session timeout to request")
	flags.BoolVar(&cfg.havoc, "chaos", true, "kill and pause workers and the coordinator, and expire their sessions")
	flags.Uint64Var(&cfg.seed, "seed", rand.Uint64N(1e6), "seed of the faults")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if err := cfg.check(); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second interrupt ends the program at once
	var err error
	if cfg.dir == "" {
		cfg.dir, err = goSource(ctx)
	} else {
		cfg.dir, err = filepath.Abs(cfg.dir)
	}
	if err != nil {
		return err
	}
	return run(ctx, cfg, newScreen(os.Stdout))
}

func beWorker(args []string) (err error) {
	var (
		w                  worker
		servers, namespace string
		timeout            time.Duration
	)
	flags := flag.NewFlagSet("worker", flag.ContinueOnError)
	flags.StringVar(&w.name, "name", "", "")
	flags.StringVar(&w.dir, "dir", "", "")
	flags.IntVar(&w.size, "batch", 0, "")
	flags.IntVar(&w.window, "window", 0, "")
	flags.StringVar(&servers, "zk", "", "")
	flags.StringVar(&namespace, "namespace", "", "")
	flags.DurationVar(&timeout, "session", 0, "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go func() { // ends with standard input (the parent has closed it, or is gone), or with the process
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	w.reports = newReporter(os.Stdout)
	w.session, err = session.New([]string{servers}, session.WithNamespace(namespace), session.WithTimeout(timeout))
	if err != nil {
		return err
	}
	defer func() {
		leaving, cancel := context.WithTimeout(context.Background(), goodbye)
		defer cancel()
		err = errors.Join(err, w.session.Close(leaving))
	}()
	if err := w.join(); err != nil {
		return err
	}
	return w.run(ctx)
}
