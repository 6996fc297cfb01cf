package group_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/troupe-go/troupe/recipes/group"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// open connects to a server that runs inside the example.
func open(ctx context.Context) (*zktest.Server, *session.Session) {
	server, err := zktest.New()
	if err != nil {
		log.Fatal(err)
	}
	s, err := session.Open(ctx, server.Hosts(), session.WithDialer(server.Dialer()))
	if err != nil {
		log.Fatal(err)
	}
	return server, s
}

// Who is there, and what has changed since.
func ExampleGroup() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	server, s := open(ctx)
	defer server.Close()
	defer s.Close(ctx)
	workers, err := group.New(s, "/groups/workers")
	if err != nil {
		log.Fatal(err)
	}

	ann, err := workers.Join(group.Member{ID: "ann", Data: []byte("idle")})
	if err != nil {
		log.Fatal(err)
	}
	<-ann.Joined()
	before, err := workers.Members(ctx)
	if err != nil {
		log.Fatal(err)
	}
	if err := ann.Update(ctx, []byte("busy")); err != nil {
		log.Fatal(err)
	}
	after, err := workers.Members(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range group.Diff(before, after).Updated {
		fmt.Printf("%s is %s\n", m.ID, m.Data)
	}
	if err := ann.Leave(ctx); err != nil {
		log.Fatal(err)
	}
	// Output: ann is busy
}

// The member's session is lost. It registers again by itself; whoever observes the group sees
// another registration, with the latest data.
func ExampleMembership() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	server, s := open(ctx)
	defer server.Close()
	defer s.Close(ctx)
	workers, err := group.New(s, "/groups/workers")
	if err != nil {
		log.Fatal(err)
	}
	ann, err := workers.Join(group.Member{ID: "ann"})
	if err != nil {
		log.Fatal(err)
	}
	if err := ann.Update(ctx, []byte("10.0.0.7:8080")); err != nil {
		log.Fatal(err)
	}
	first, err := workers.Members(ctx)
	if err != nil {
		log.Fatal(err)
	}

	server.Expire(s.Status().SessionID) // as a long partition would
	for view := range workers.Observe(ctx) {
		if len(view.Members) == 1 && view.Members[0].Token > first.Members[0].Token {
			fmt.Printf("%s is at %s\n", view.Members[0].ID, view.Members[0].Data)
			break
		}
	}
	_, err = workers.Join(group.Member{ID: "ann"})
	fmt.Println("another ann:", errors.Is(err, group.ErrDuplicate))
	// Output:
	// ann is at 10.0.0.7:8080
	// another ann: true
}
