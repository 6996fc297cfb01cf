package barrier_test

// How both barriers are used.

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/troupe-go/troupe/recipes/barrier"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// start starts a server inside the example. open connects to it.
func start() (ctx context.Context, server *zktest.Server, open func() *session.Session, done func()) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	server, err := zktest.New()
	if err != nil {
		log.Fatal(err)
	}
	return ctx, server, func() *session.Session {
		s, err := session.Open(ctx, server.Hosts(), session.WithDialer(server.Dialer()))
		if err != nil {
			log.Fatal(err)
		}
		return s
	}, func() { server.Close(); cancel() }
}

// Workers wait until the migration is done.
func ExampleBarrier() {
	ctx, _, open, done := start()
	defer done()
	s := open()
	defer s.Close(ctx)

	gate, err := barrier.New(s, "/gates/migration")
	if err != nil {
		log.Fatal(err)
	}
	if err := gate.Raise(ctx); err != nil {
		log.Fatal(err)
	}
	worker := make(chan error)
	go func() { worker <- gate.Wait(ctx) }()
	fmt.Println("migrated")
	if err := gate.Lower(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println("the worker goes on:", <-worker)
	// Output:
	// migrated
	// the worker goes on: <nil>
}

// Three processes compute in rounds: no process begins a round before all have arrived, or goes on
// before all are done.
func ExampleDouble() {
	ctx, _, open, done := start()
	defer done()

	party := func(name string) []string {
		s := open() // each in a process of its own
		defer s.Close(ctx)
		rounds, err := barrier.NewDouble(s, "/rounds/batch", 3, barrier.WithName(name))
		if err != nil {
			log.Fatal(err)
		}
		defer rounds.Close(ctx)
		var told []string
		for range 2 {
			passage, err := rounds.Enter(ctx)
			if err != nil {
				log.Fatal(err)
			}
			told = append(told, fmt.Sprint("round ", passage.Round(), " with ", passage.Members()))
			if err := passage.Leave(ctx); err != nil {
				log.Fatal(err)
			}
		}
		return told
	}
	results := make(chan []string)
	for _, id := range []string{"ann", "bob", "eve"} {
		go func() { results <- party(id) }()
	}
	for range 3 {
		fmt.Println(<-results)
	}
	// Output:
	// [round 1 with [ann bob eve] round 2 with [ann bob eve]]
	// [round 1 with [ann bob eve] round 2 with [ann bob eve]]
	// [round 1 with [ann bob eve] round 2 with [ann bob eve]]
}

// A party loses its session in the middle of a round. It is told at once, and does not hold the
// other one.
func ExamplePassage() {
	ctx, server, open, done := start()
	defer done()
	var parties []*barrier.Double
	var sessions []*session.Session
	for range 2 {
		s := open()
		defer s.Close(ctx)
		d, err := barrier.NewDouble(s, "/rounds/batch", 2)
		if err != nil {
			log.Fatal(err)
		}
		d.Arrive()
		parties, sessions = append(parties, d), append(sessions, s)
	}
	unlucky, lucky := <-parties[0].Entered(), <-parties[1].Entered()

	server.Expire(sessions[0].Status().SessionID) // as a long partition would
	<-unlucky.Done()
	fmt.Println("the passage is lost:", errors.Is(unlucky.Err(), session.ErrLost))
	fmt.Println("the other leaves:", lucky.Leave(ctx))
	<-unlucky.Left()
	fmt.Println("and the round is over for both")
	// Output:
	// the passage is lost: true
	// the other leaves: <nil>
	// and the round is over for both
}
