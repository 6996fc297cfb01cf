// Customrecipe is a user-defined recipe, written with Troupe's public packages: an exclusive lock
// with priorities.
//
//	go run ./examples/customrecipe            # on a ZooKeeper server inside this program
//	go run ./examples/customrecipe -zk zk1:2181
//
// # What happens
//
// The recipe is in package prio: a machine (machine.go), a handle (lock.go), golden traces, and
// random schedules of several machines. This program uses it: a report holds the lock; a batch
// with a worse priority waits; then comes an urgent repair, and goes before the batch. On the
// embedded server the repair is cut off while it holds the lock: it loses the lock by its own
// clock, and only then the batch gets it. Each step is printed. The program exits with status 0
// only if that was the order.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/troupe-go/troupe/examples/customrecipe/prio"
	"github.com/troupe-go/troupe/examples/internal/ground"
	"github.com/troupe-go/troupe/session"
)

const lockPath = "/archive"

func main() { ground.Main("customrecipe", tell) }

func tell(ctx context.Context, g *ground.Ground, out io.Writer) error {
	s, err := g.Open(ctx)
	if err != nil {
		return err
	}
	defer ground.Close(s)
	report, err := prio.Acquire(ctx, s, lockPath, 500)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "the report holds the lock, with token %d\n", report.Token())
	all, ctx := errgroup.WithContext(ctx)
	holders := make(chan string, 2)
	all.Go(func() error { return contend(ctx, g, "the batch", 900, holders) })
	all.Go(func() error { return contend(ctx, g, "the repair", 10, holders) })
	for now := range s.WatchChildren(ctx, lockPath) {
		if len(now.Names) == 3 { // both wait
			break
		}
	}
	err = errors.Join(report.Release(ctx), all.Wait())
	if err != nil {
		return err
	}
	if first, second := <-holders, <-holders; first != "the repair" {
		return fmt.Errorf("%s came before %s", first, second)
	}
	fmt.Fprintln(out, "the repair came before the batch")
	return nil
}

// contend acquires the lock in a session of its own, as a separate process would, and releases it.
func contend(ctx context.Context, g *ground.Ground, name string, priority int, holders chan<- string) error {
	s, err := g.Open(ctx, session.WithTimeout(5*time.Second))
	if err != nil {
		return err
	}
	defer ground.Close(s)
	grant, err := prio.Acquire(ctx, s, lockPath, priority)
	if err != nil {
		return err
	}
	holders <- name
	fmt.Printf("%s holds the lock, with token %d\n", name, grant.Token())
	if name == "the repair" && g.Embedded != nil {
		heal := g.Embedded.Partition(s.Status().SessionID)
		<-grant.Done()
		fmt.Printf("%s is cut off from ZooKeeper, and has lost the lock: %v\n", name, grant.Err())
		heal()
	}
	return grant.Release(ctx)
}
