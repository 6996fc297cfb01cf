// How locks are used: exclusive ones; readers, writers and semaphores; several at once, delays and
// the layouts of others.

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

// Readers hold the lock together, and a writer waits for all of them.
func ExampleNewRead() {
	ctx, _, s, done := open()
	defer done()
	write, err := lock.NewWrite(s, "/locks/catalogue")
	if err != nil {
		log.Fatal(err)
	}
	for range 2 { // in life, two processes
		read, err := lock.NewRead(s, "/locks/catalogue")
		if err != nil {
			log.Fatal(err)
		}
		reading, err := read.Lock(ctx)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("reading:", reading.Valid())
		defer reading.Release(ctx)
	}
	_, err = write.TryLock(ctx)
	fmt.Println("the writer has to wait:", errors.Is(err, lock.ErrHeld))
	// Output:
	// reading: true
	// reading: true
	// the writer has to wait: true
}

// The writer changes something while nobody else looks, and goes on as a reader, with others.
func ExampleGrant_Downgrade() {
	ctx, _, s, done := open()
	defer done()
	write, err := lock.NewWrite(s, "/locks/catalogue")
	if err != nil {
		log.Fatal(err)
	}
	read, err := lock.NewRead(s, "/locks/catalogue")
	if err != nil {
		log.Fatal(err)
	}

	writing, err := write.Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	_, err = read.TryLock(ctx)
	fmt.Println("a reader beside the writer:", errors.Is(err, lock.ErrHeld))
	reading, err := writing.Downgrade(ctx)
	if err != nil {
		log.Fatal(err)
	}
	_, err = read.TryLock(ctx)
	fmt.Println("a reader beside the reader:", err)
	_, err = write.TryLock(reading.Context())
	fmt.Println("and back to writing:", errors.Is(err, lock.ErrUpgrade))
	fmt.Println("the token is the same:", reading.Token() == writing.Token())
	// Output:
	// a reader beside the writer: true
	// a reader beside the reader: <nil>
	// and back to writing: true
	// the token is the same: true
}

// Two of three permits at once, the third for somebody else, and a fourth only when the limit is
// raised.
func ExampleNewSemaphore() {
	ctx, _, s, done := open()
	defer done()
	take := func(permits, weight int) error {
		encoders, err := lock.NewSemaphore(s, "/limits/encoders", permits, lock.WithWeight(weight))
		if err == nil {
			_, err = encoders.TryLock(ctx)
		}
		return err
	}

	encoders, err := lock.NewSemaphore(s, "/limits/encoders", 3)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("two:", take(3, 2))
	fmt.Println("the third:", take(3, 1))
	fmt.Println("a fourth is held:", errors.Is(take(3, 1), lock.ErrHeld))
	if err := encoders.SetLimit(ctx, 4); err != nil {
		log.Fatal(err)
	}
	fmt.Println("the fourth:", take(4, 1))
	fmt.Println("who is made with three:", errors.Is(take(3, 1), lock.ErrLimit))
	// Output:
	// two: <nil>
	// the third: <nil>
	// a fourth is held: true
	// the fourth: <nil>
	// who is made with three: true
}

// An administrator takes a permit away from a holder who does not listen. The holder hears of it,
// and the next one is granted.
func ExampleLock_Break() {
	ctx, _, s, done := open()
	defer done()
	holder, err := lock.NewSemaphore(s, "/limits/encoders", 1, lock.WithData([]byte("host 7")))
	if err != nil {
		log.Fatal(err)
	}
	next, err := lock.NewSemaphore(s, "/limits/encoders", 1)
	if err != nil {
		log.Fatal(err)
	}
	held, err := holder.Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	next.Acquire()

	queue, err := next.Contenders(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s holds: %t\n", queue[0].Data, queue[0].Holding)
	if err := next.Break(ctx, queue[0], time.Millisecond); err != nil {
		log.Fatal(err)
	}
	<-held.Done()
	fmt.Println("it is lost:", errors.Is(held.Err(), session.ErrDeleted))
	fmt.Println("the next one:", (<-next.Acquired()).Valid())
	// Output:
	// host 7 holds: true
	// it is lost: true
	// the next one: true
}

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
