// Selectloop is one goroutine that waits for everything at once: a lock, leadership, the session's
// state, jobs and a timer, in one select.
//
//	go run ./examples/selectloop            # on a ZooKeeper server inside this program
//	go run ./examples/selectloop -zk zk1:2181
//
// # What happens
//
// The loop (loop.go) shows how Troupe is meant to be used: intents are stated before it, facts
// arrive in it, and no branch ever has to re-arm or reconnect anything. Its neighbours
// (neighbour.go) cause the events: one holds the lock first and releases it, one leads first and
// resigns, one puts jobs into the queue. Once the loop holds everything, its ZooKeeper session is
// ended (on the embedded server), so that all of it is lost, and acquired again with larger tokens.
// The program exits with status 0 when the loop has seen every kind of fact, and everything it held
// has been released.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sync/errgroup"

	"github.com/troupe-go/troupe/examples/internal/ground"
)

func main() { ground.Main("selectloop", tell) }

func tell(ctx context.Context, g *ground.Ground, out io.Writer) error {
	n, err := newNeighbour(ctx, g)
	if err != nil {
		return err
	}
	defer n.close()
	if err := n.takeEverything(ctx); err != nil {
		return err
	}
	s, err := g.Open(ctx)
	if err != nil {
		return err
	}
	defer ground.Close(s)

	enough := errors.New("every kind of fact has been seen")
	l := &loop{session: s, out: out, seen: map[string]int{}, want: kinds(g.Embedded != nil), enough: enough}
	if g.Embedded != nil {
		l.mishap = func() { g.Embedded.Expire(s.Status().SessionID) }
	}
	all, ctx := errgroup.WithContext(ctx)
	all.Go(func() error { return l.run(ctx) })
	all.Go(func() error { return n.letGo(ctx) })
	if err := all.Wait(); !errors.Is(err, enough) {
		return err
	}
	fmt.Fprintf(out, "seen: %d grants, %d terms, %d jobs, %d ticks, %d states\n",
		l.seen[grants], l.seen[terms], l.seen[jobs], l.seen[ticks], l.seen[states])
	return nil
}

// kinds returns how often each kind of fact must be seen. Possessions must be seen twice if the
// session is ended in between.
func kinds(mishap bool) map[string]int {
	held := 1
	if mishap {
		held = 2
	}
	return map[string]int{grants: held, terms: held, jobs: 3, ticks: 2, states: 1}
}
