// How exclusive locks are used.

package lock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/troupe-go/troupe/recipes/fence"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// open connects to a server that runs inside the example.
func open() (ctx context.Context, server *zktest.Server, s *session.Session, done func()) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	server, err := zktest.New()
	if err != nil {
		log.Fatal(err)
	}
	s, err = session.Open(ctx, server.Hosts(), session.WithDialer(server.Dialer()))
	if err != nil {
		log.Fatal(err)
	}
	return ctx, server, s, func() { s.Close(ctx); server.Close(); cancel() }
}

// One piece of work at a time, and its result written only while the lock is held.
func ExampleLock_Do() {
	ctx, _, s, done := open()
	defer done()
	if _, err := s.Create(ctx, "/total", []byte("0")); err != nil {
		log.Fatal(err)
	}

	total, err := lock.New(s, "/locks/total")
	if err != nil {
		log.Fatal(err)
	}
	defer total.Close(ctx)
	err = total.Do(ctx, func(ctx context.Context, g *lock.Grant) error {
		_, err := g.Commit(ctx, session.SetOp("/total", []byte("42"), -1))
		return err
	})
	data, _, _ := s.Get(ctx, "/total")
	fmt.Println(string(data), err)
	// Output: 42 <nil>
}

// A service that holds the lock whenever it can. The first grant is lost with its session; the
// second comes by itself, with a larger token.
func ExampleLock_Acquired() {
	ctx, server, s, done := open()
	defer done()
	orders, err := lock.New(s, "/locks/orders")
	if err != nil {
		log.Fatal(err)
	}
	defer orders.Close(ctx)

	orders.Acquire()
	first := <-orders.Acquired()
	fmt.Println("first grant stands:", first.Valid())
	server.Expire(s.Status().SessionID) // as a long partition would
	<-first.Done()
	fmt.Println("first grant is lost:", errors.Is(first.Err(), session.ErrLost))
	second := <-orders.Acquired()
	fmt.Println("second token is larger:", second.Token() > first.Token())
	// Output:
	// first grant stands: true
	// first grant is lost: true
	// second token is larger: true
}

// A holder who lost the lock unawares is refused by the resource.
func ExampleGrant_Sequencer() {
	ctx, _, s, done := open()
	defer done()
	orders, err := lock.New(s, "/locks/orders")
	if err != nil {
		log.Fatal(err)
	}
	defer orders.Close(ctx)
	var resource fence.Gate

	slow, err := orders.Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	if err := s.Delete(ctx, slow.Path(), -1); err != nil { // an administrator is impatient
		log.Fatal(err)
	}
	quick, err := orders.Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("quick:", resource.Admit(quick.Sequencer()))
	fmt.Println("slow is fenced:", errors.Is(resource.Admit(slow.Sequencer()), fence.ErrFenced))
	// Output:
	// quick: <nil>
	// slow is fenced: true
}
