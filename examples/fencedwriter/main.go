// Fencedwriter shows why a lock alone does not protect a resource, and how a fencing token does.
//
//	go run ./examples/fencedwriter            # on a ZooKeeper server inside this program
//	go run ./examples/fencedwriter -zk zk1:2181
//
// # What happens
//
// A ledger (ledger.go) accepts lines over HTTP. Two writers take turns under a lock. The first one
// checks that it still holds the lock, and then, before it has written, it is paused: its
// connection and its code stop, as in a long garbage collection, or on a laptop that was closed.
// ZooKeeper expires its session, the second writer gets the lock, and writes. Then the first one
// wakes up, in the middle of its write, and continues.
//
// No lock can prevent that: the first writer checked before it wrote. But every line comes with the
// sequencer of its grant, and the ledger checks it with a [fence.Gate]: a holder that is older than
// one already admitted is refused. The program exits with status 0 only if the late line was
// refused.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/troupe-go/troupe/examples/internal/ground"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
)

const lockPath = "/locks/ledger"

func main() { ground.Main("fencedwriter", tell) }

func tell(ctx context.Context, g *ground.Ground, out io.Writer) error {
	ledger, err := openLedger()
	if err != nil {
		return err
	}
	defer ledger.close()

	var pause pause
	sleepy, err := newWriter(ctx, g, "sleepy", ledger.url, session.WithDialer(pause.dial))
	if err != nil {
		return err
	}
	defer sleepy.close()
	defer pause.end() // whatever the outcome
	brisk, err := newWriter(ctx, g, "brisk", ledger.url)
	if err != nil {
		return err
	}
	defer brisk.close()

	grant, err := sleepy.lock.Lock(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "sleepy holds the lock, with token %d, and writes a line\n", grant.Token())
	if err := sleepy.write(ctx, grant, "sleepy was here"); err != nil {
		return err
	}
	if !grant.Valid() {
		return errors.New("sleepy has already lost the lock: the machine is too busy for this example")
	}
	fmt.Fprintln(out, "sleepy has checked that it still holds the lock. It begins to write another line, and is paused")
	pause.begin()

	second, err := brisk.lock.Lock(ctx) // returns when sleepy's session has expired
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "brisk holds the lock, with token %d, and writes a line\n", second.Token())
	if err := brisk.write(ctx, second, "brisk was here"); err != nil {
		return err
	}

	pause.end()
	fmt.Fprintln(out, "sleepy wakes up and continues its write")
	err = sleepy.write(ctx, grant, "sleepy was here again")
	switch {
	case err == nil:
		return errors.New("the late line was written")
	case !errors.Is(err, errRefused):
		return err
	}
	fmt.Fprintf(out, "the ledger: %v\n", err)
	<-grant.Done()
	fmt.Fprintf(out, "sleepy learns that it lost the lock: %v\n", grant.Err())
	fmt.Fprintf(out, "the ledger contains: %q\n", ledger.all())
	return second.Release(ctx)
}

// writer is one of the two processes.
type writer struct {
	name    string
	session *session.Session
	lock    *lock.Lock
	url     string
}

func newWriter(ctx context.Context, g *ground.Ground, name, url string, opts ...session.Option) (*writer, error) {
	s, err := g.Open(ctx, opts...)
	if err != nil {
		return nil, err
	}
	l, err := lock.New(s, lockPath, lock.WithData([]byte(name)))
	if err != nil {
		ground.Close(s)
		return nil, err
	}
	return &writer{name: name, session: s, lock: l, url: url}, nil
}

// write sends a line to the ledger, with the sequencer of the writer's grant.
func (w *writer) write(ctx context.Context, g *lock.Grant, line string) error {
	return post(ctx, w.url, g.Sequencer(), line)
}

func (w *writer) close() { ground.Close(w.session) }
