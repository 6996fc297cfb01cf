// Customrecipe is a user-defined recipe, written with Troupe's public packages: an exclusive lock
// with priorities.
//
// # What happens
//
// The recipe is in package prio: a machine (machine.go), a handle (lock.go), golden traces, and
// random schedules of several machines. This program uses it: a report holds the lock, a batch with
// a worse priority waits, then an urgent repair comes, and gets the lock before the batch. The
// program prints each step, and exits with status 0 only if that was the order.
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

	"github.com/troupe-go/troupe/examples/customrecipe/prio"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

const lockPath = "/archive"

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
	zk = cmp.Or(zk, server.Servers()[0]) + "/troupe-customrecipe-" + rand.Text() // all below this is removed at the end
	s, err := session.Open(ctx, []string{zk})
	if err != nil {
		return err
	}
	defer session.CloseWithin(s, 5*time.Second)
	defer s.DeleteAll(ctx, "/") //nolint:errcheck // the next run has another path
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
