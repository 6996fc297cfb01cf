package election_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// A candidate beside others that run ZooKeeper's Java recipe: its znode has that one's name, and
// contains the host's name and nothing else.
func ExampleWithLayout() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	server, err := zktest.New()
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	s, err := session.Open(ctx, server.Hosts(), session.WithDialer(server.Dialer()))
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close(ctx)

	e, err := election.New(s, "/election", election.WithLayout(election.LeaderElectionSupport), election.WithID("host-1"))
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close(ctx)
	term, err := e.Lead(ctx)
	if err != nil {
		log.Fatal(err)
	}
	data, _, err := s.Get(ctx, term.Path())
	fmt.Println(term.Path(), string(data), err)
	// Output: /election/n_0000000000 host-1 <nil>
}
