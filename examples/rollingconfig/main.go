// Rollingconfig rolls out a configuration change to several servers, a limited number at a time,
// with one value in ZooKeeper and a semaphore.
//
//	go run ./examples/rollingconfig            # on a ZooKeeper server inside this program
//	go run ./examples/rollingconfig -zk zk1:2181
//
// # What happens
//
// Five servers (server.go) run with a configuration that they all watch. When it changes, each has
// to reload, and can't serve meanwhile; a semaphore ensures that at most two reload at once. An
// operator doubles the rate, then writes an invalid value, which no server loads, and then a valid
// one again. On the embedded server one server is partitioned on the way. What each server runs
// with is printed. The program exits with status 0 only if in the end all servers run with the last
// valid configuration, and never more than two were reloading.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/troupe-go/troupe/examples/internal/ground"
	"github.com/troupe-go/troupe/session"
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

func main() { ground.Main("rollingconfig", tell) }

func tell(ctx context.Context, g *ground.Ground, out io.Writer) error {
	s, err := g.Open(ctx)
	if err != nil {
		return err
	}
	defer ground.Close(s)
	if _, err := s.Create(ctx, configPath, []byte(`{"rate": 100}`)); err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	all, running := errgroup.WithContext(running)
	f := &fleet{news: make(chan news)}
	for i := range servers {
		all.Go(func() error {
			err := f.serve(running, g, i)
			if running.Err() != nil {
				return nil //nolint:nilerr // the end is not a failure
			}
			return fmt.Errorf("server %d has ended: %w", i, err)
		})
	}
	err = operate(running, g, s, f, out)
	stop()
	if err := errors.Join(all.Wait(), err); err != nil {
		return err
	}
	fmt.Fprintf(out, "every server runs with the last good configuration; never more than %d were reloading\n", atOnce)
	return nil
}

// operate is what the operator does.
func operate(ctx context.Context, g *ground.Ground, s *session.Session, f *fleet, out io.Writer) error {
	if err := f.await(ctx, out, news{rate: 100}); err != nil {
		return err
	}
	if g.Embedded != nil {
		fmt.Fprintln(out, "server 3 is partitioned, for longer than its session lasts")
		time.AfterFunc(3*time.Second, g.Embedded.Partition(f.sessions[3].Load()))
	}
	for _, step := range []struct {
		text string
		want news
	}{
		{`{"rate": 200}`, news{rate: 200}},
		{`rate=300`, news{rate: 200, complains: true}},
		{`{"rate": 250}`, news{rate: 250}},
	} {
		fmt.Fprintf(out, "the operator writes %s\n", step.text)
		if _, err := s.Set(ctx, configPath, []byte(step.text), -1); err != nil {
			return err
		}
		if err := f.await(ctx, out, step.want); err != nil {
			return err
		}
	}
	return nil
}
