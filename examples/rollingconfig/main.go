// Rollingconfig rolls out a configuration change to several processes, a limited number at a time,
// with one value in ZooKeeper and a semaphore.
//
//	go run ./examples/rollingconfig            # on a ZooKeeper server inside this program
//	go run ./examples/rollingconfig -zk zk1:2181
//
// # What happens
//
// Five servers run with a configuration that they all watch. When it changes, each has to reload,
// and can't serve meanwhile; a semaphore ensures that at most two reload at once. An operator
// starts them before there is any configuration (they wait for it), doubles the rate, then writes
// an invalid value by hand, which no server loads, and then a valid one again. On the embedded
// server one server is partitioned on the way. The program exits with status 0 only if in the end
// all servers run with the last valid configuration, none ran with the invalid one, and never more
// than two were reloading.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/troupe-go/troupe/examples/internal/ground"
	"github.com/troupe-go/troupe/recipes/config"
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
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("the change was not rolled out within a minute"))
	defer cancel()
	b := newBoard(out)
	all, running := errgroup.WithContext(ctx)
	running, stop := context.WithCancel(running)
	defer stop()
	var fleet []*server
	for i := range servers {
		s := &server{number: i, board: b}
		fleet = append(fleet, s)
		all.Go(func() error { return s.run(running, g) })
	}
	err := operate(ctx, g, b, fleet)
	stop()
	if err := errors.Join(err, all.Wait()); err != nil {
		return err
	}
	if most := b.mostAtOnce(); most > atOnce {
		return fmt.Errorf("%d servers were reloading at once", most)
	}
	fmt.Fprintf(out, "every server runs with the last good configuration; never more than %d were reloading\n", atOnce)
	return nil
}

// operate is what the operator does.
func operate(ctx context.Context, g *ground.Ground, b *board, fleet []*server) error {
	s, err := g.Open(ctx)
	if err != nil {
		return err
	}
	defer ground.Close(s)
	cell, err := config.Open(ctx, s, configPath, config.JSON[limits]())
	if err != nil {
		return err
	}
	defer ground.Close(cell)

	b.say("the operator writes a first configuration: rate 100")
	if _, err := cell.Update(ctx, func(limits) (limits, error) { return limits{Rate: 100}, nil }); err != nil {
		return err
	}
	if err := b.await(ctx, 100); err != nil {
		return err
	}
	b.say("the operator doubles the rate")
	if _, err := cell.Update(ctx, func(l limits) (limits, error) { return limits{Rate: 2 * l.Rate}, nil }); err != nil {
		return err
	}
	if g.Embedded != nil {
		b.say("server 3 is partitioned, for longer than its session lasts")
		time.AfterFunc(3*time.Second, g.Embedded.Partition(fleet[3].sessionID()))
	}
	if err := b.await(ctx, 200); err != nil {
		return err
	}
	b.say("somebody writes an invalid configuration")
	if _, err := s.Set(ctx, configPath, []byte("rate=300"), -1); err != nil {
		return err
	}
	if err := b.awaitComplaints(ctx); err != nil {
		return err
	}
	b.say("the operator writes rate 250")
	if _, err := s.Set(ctx, configPath, []byte(`{"rate": 250}`), -1); err != nil {
		return err
	}
	return b.await(ctx, 250)
}
