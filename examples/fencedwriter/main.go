// Fencedwriter shows why a lock alone does not protect a resource, and how a fencing token does.
//
// # What happens
//
// Two writers have a ledger (ledger.go) in common. Sleepy checks that it holds the lock, and then,
// before it has written, it is paused, as in a long garbage collection, or on a laptop that was
// closed. ZooKeeper expires its session; brisk gets the lock, and writes. Then sleepy wakes up in
// the middle of its write.
//
// No lock can prevent that: sleepy checked before it wrote. But every line comes with the sequencer
// of its grant, and the ledger checks it with a [fence.Gate]: a holder that is older than one
// already admitted is refused. The program exits with status 0 only if the late line was refused,
// and the ledger contains ["sleepy was here" "brisk was here"].
package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"log"
	"slices"
	"sync"
	"time"

	"github.com/troupe-go/troupe/recipes/fence"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

func main() {
	zk := flag.String("zk", "", "ZooKeeper `servers`, host:port,… (default: one inside this program)")
	flag.Parse()
	if err := run(context.Background(), *zk); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, zk string) error {
	server, err := zktest.New(zktest.WithTick(500 * time.Millisecond)) // it ends with the program
	if err != nil {
		return err
	}
	zk = cmp.Or(zk, server.Servers()[0]) + "/troupe-fencedwriter-" + rand.Text() // below this everything is removed in the end
	var ledger ledger
	var pause pause
	sleepy, err := acquire(ctx, zk, session.WithDialer(pause.dial), session.WithTimeout(2*time.Second))
	if err != nil {
		return err
	}
	defer session.CloseWithin(sleepy.Session(), 5*time.Second)
	fmt.Printf("sleepy holds the lock, with token %d, and writes a line\n", sleepy.Token())
	if err := ledger.write(sleepy.Sequencer().String(), "sleepy was here"); err != nil {
		return err
	}
	// On a busy machine it may have lost the lock already. The rest is the same.
	fmt.Printf("sleepy checks that it holds the lock: %t. It begins to write another line, and is paused\n", sleepy.Valid())
	pause.Lock()
	wakeUp := sync.OnceFunc(pause.Unlock)
	defer wakeUp()

	brisk, err := acquire(ctx, zk) // returns when sleepy's session has expired
	if err != nil {
		return err
	}
	defer session.CloseWithin(brisk.Session(), 5*time.Second)
	defer brisk.Session().DeleteAll(ctx, "/") //nolint:errcheck // it is only tidier
	fmt.Printf("brisk holds the lock, with token %d, and writes a line\n", brisk.Token())
	if err := ledger.write(brisk.Sequencer().String(), "brisk was here"); err != nil {
		return err
	}

	wakeUp()
	fmt.Println("sleepy wakes up and continues its write")
	if err := ledger.write(sleepy.Sequencer().String(), "sleepy was here again"); !errors.Is(err, fence.ErrFenced) {
		return fmt.Errorf("the late line was not refused: %w", err)
	}
	<-sleepy.Done()
	fmt.Printf("it is refused, and sleepy learns that it lost the lock: %v\n", sleepy.Err())
	fmt.Printf("the ledger contains: %q\n", ledger.lines)
	if !slices.Equal(ledger.lines, []string{"sleepy was here", "brisk was here"}) {
		return errors.New("the ledger is wrong")
	}
	return nil
}

// acquire gets the lock in a session of its own, as a separate process would.
func acquire(ctx context.Context, zk string, opts ...session.Option) (*lock.Grant, error) {
	s, err := session.Open(ctx, []string{zk}, opts...)
	if err != nil {
		return nil, err
	}
	l, err := lock.New(s, "/locks/ledger")
	if err != nil {
		return nil, err
	}
	return l.Lock(ctx) // the caller closes the grant's session
}
