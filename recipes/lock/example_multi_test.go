// How several locks, delays and the layouts of others are used.

package lock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
)

// account makes the lock of an account.
func account(s *session.Session, name string) *lock.Lock {
	l, err := lock.New(s, "/accounts/"+name)
	if err != nil {
		log.Fatal(err)
	}
	return l
}

// Two accounts are locked for a transfer, in an order that is the same for everybody, and written
// only while both are.
func ExampleMulti_Do() {
	ctx, _, s, done := open()
	defer done()

	m, err := lock.NewMulti(account(s, "bob"), account(s, "alice"))
	if err != nil {
		log.Fatal(err)
	}
	err = m.Do(ctx, func(ctx context.Context, g *lock.MultiGrant) error {
		_, err := g.Commit(ctx, session.CreateOp("/transfer", []byte("alice owes bob 5")))
		return err
	})
	data, _, _ := s.Get(ctx, "/transfer")
	fmt.Println(string(data), err)
	// Output: alice owes bob 5 <nil>
}

// When one of the locks is lost, the whole grant is over, and the other lock is released.
func ExampleMultiGrant() {
	ctx, _, s, done := open()
	defer done()
	m, err := lock.NewMulti(account(s, "bob"), account(s, "alice"))
	if err != nil {
		log.Fatal(err)
	}
	both, err := m.Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	if err := s.Delete(ctx, both.Grants()[1].Path(), -1); err != nil { // an administrator is impatient
		log.Fatal(err)
	}
	<-both.Done()
	fmt.Println("lost:", errors.Is(both.Err(), session.ErrDeleted))
	again, err := m.Lock(ctx) // waits until what was left of the lost grant is released
	fmt.Println("held again:", again.Valid(), err)
	// Output:
	// lost: true
	// held again: true <nil>
}

// The next holder after one that died waits, so that nothing of the dead one arrives late.
func ExampleWithDelay() {
	ctx, server, s, done := open()
	defer done()
	other, err := session.Open(ctx, server.Hosts(), session.WithDialer(server.Dialer()))
	if err != nil {
		log.Fatal(err)
	}
	defer other.Close(ctx)
	const delay = 100 * time.Millisecond

	first, err := lock.New(s, "/locks/disk", lock.WithDelay(delay))
	if err != nil {
		log.Fatal(err)
	}
	second, err := lock.New(other, "/locks/disk", lock.WithDelay(delay))
	if err != nil {
		log.Fatal(err)
	}
	g, err := first.Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	server.Expire(s.Status().SessionID) // it dies
	<-g.Done()
	died := time.Now()
	_, err = second.TryLock(ctx)
	fmt.Println("a try does not wait:", errors.Is(err, lock.ErrHeld))
	if _, err = second.Lock(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println("the next does:", time.Since(died) >= delay)
	// Output:
	// a try does not wait: true
	// the next does: true
}

// A path that other systems hold by a plain ephemeral znode.
func ExampleWithLayout() {
	ctx, _, s, done := open()
	defer done()

	controller, err := lock.New(s, "/controller", lock.WithLayout(lock.Simple), lock.WithData([]byte(`{"brokerid":1}`)))
	if err != nil {
		log.Fatal(err)
	}
	g, err := controller.Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	data, _, err := s.Get(ctx, "/controller")
	fmt.Println(g.Path(), string(data), err)
	_, err = s.Create(ctx, "/controller", nil, session.Ephemeral()) // as a broker would
	fmt.Println("excluded:", errors.Is(err, session.ErrNodeExists))
	// Output:
	// /controller {"brokerid":1} <nil>
	// excluded: true
}
