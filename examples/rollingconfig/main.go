// Rollingconfig rolls out a configuration change to several servers, a limited number at a time,
// with one value in ZooKeeper and a semaphore.
//
// # What happens
//
// Five servers (server.go) run with a configuration that they all watch. When it changes, each has
// to reload, and can't serve meanwhile; a semaphore ensures that at most two reload at once. An
// operator doubles the rate, then writes an invalid value, which no server loads, and then a valid
// one again. Each server's configuration is printed. The program exits with status 0 only if in the
// end all servers run with the last valid configuration, and never more than two were reloading.
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

	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

const (
	configPath = "/limits"
	slotsPath  = "/reloading"
	servers    = 5
	atOnce     = 2
)

// limits is the configuration.
type limits struct {
	Rate int `json:"rate"`
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
	zk = cmp.Or(zk, server.Servers()[0]) + "/troupe-rollingconfig-" + rand.Text() // below this everything is removed in the end
	s, err := session.Open(ctx, []string{zk})
	if err != nil {
		return err
	}
	defer session.CloseWithin(s, 5*time.Second)
	defer s.DeleteAll(ctx, "/") //nolint:errcheck // it is only tidier
	if _, err := s.Create(ctx, configPath, []byte(`{"rate": 100}`)); err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	all, running := errgroup.WithContext(running)
	reports := make(chan report)
	for i := range servers {
		all.Go(func() error { return serve(running, zk, i, reports) })
	}
	err = operate(running, s, reports)
	stop()
	if err := errors.Join(all.Wait(), err); err != nil {
		return err
	}
	fmt.Printf("every server runs with the last good configuration; never more than %d were reloading\n", atOnce)
	return nil
}

// operate is the operator's part: a step when all servers have reported the last one.
func operate(ctx context.Context, s *session.Session, reports <-chan report) error {
	steps := []string{`{"rate": 200}`, `rate=300`, `{"rate": 250}`}
	for i, want := range []report{{rate: 100}, {rate: 200}, {rate: 200, invalid: true}, {rate: 250}} {
		if err := await(ctx, reports, want); err != nil {
			return err
		}
		if i < len(steps) {
			fmt.Printf("the operator writes %s\n", steps[i])
			if _, err := s.Set(ctx, configPath, []byte(steps[i]), -1); err != nil {
				return err
			}
		}
	}
	return nil
}

// await waits until each server has reported want.
func await(ctx context.Context, reports <-chan report, want report) error {
	for range servers {
		select {
		case r := <-reports:
			if r != want {
				return fmt.Errorf("a server runs with rate %d", r.rate)
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
