// How readers, writers and semaphores are used.

package lock_test

import (
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
)

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

	fmt.Println("two:", take(3, 2))
	fmt.Println("the third:", take(3, 1))
	fmt.Println("a fourth is held:", errors.Is(take(3, 1), lock.ErrHeld))
	if err := lock.SetLimit(ctx, s, "/limits/encoders", 4); err != nil {
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
func ExampleBreak() {
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

	line, err := next.Contenders(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s holds: %t\n", line[0].Data, line[0].Holding)
	if err := lock.Break(ctx, s, line[0].Path, time.Millisecond); err != nil {
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
