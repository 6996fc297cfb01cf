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
// with a worse priority waits; then comes an urgent repair, and goes before the batch. Each step is
// printed. The program exits with status 0 only if that was the order.
package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/troupe-go/troupe/examples/customrecipe/prio"
	"github.com/troupe-go/troupe/examples/internal/ground"
)

const lockPath = "/archive"

func main() { ground.Main("customrecipe", tell) }

func tell(ctx context.Context, g *ground.Ground) error {
	s, err := g.Open(ctx)
	if err != nil {
		return err
	}
	defer s.CloseWithin(5 * time.Second)
	report, err := prio.Acquire(ctx, s, lockPath, 500)
	if err != nil {
		return err
	}
	fmt.Println("the report holds the lock, with token", report.Token())
	all, ctx := errgroup.WithContext(ctx)
	holders := make(chan string, 2) // in their order
	for name, priority := range map[string]int{"the batch": 900, "the repair": 10} {
		all.Go(func() error {
			grant, err := prio.Acquire(ctx, s, lockPath, priority)
			if err != nil {
				return err
			}
			holders <- name
			fmt.Println(name, "holds the lock, with token", grant.Token())
			return grant.Release(ctx)
		})
	}
	for now := range s.WatchChildren(ctx, lockPath) {
		if len(now.Names) == 3 { // both wait
			break
		}
	}
	if err := errors.Join(report.Release(ctx), all.Wait()); err != nil {
		return err
	}
	if first := <-holders; first != "the repair" {
		return fmt.Errorf("%s came first", first)
	}
	fmt.Println("the repair came before the batch")
	return nil
}
