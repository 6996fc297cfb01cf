package config_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/troupe-go/troupe/recipes/config"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

// connect connects to a server that runs inside the example.
func connect(ctx context.Context) (*zktest.Server, *session.Session) {
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

// Limits that all processes share: read from memory, changed by whoever may.
func ExampleCell_Update() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	server, s := connect(ctx)
	defer server.Close()
	defer s.Close(ctx)
	type Limits struct{ Rate int }

	cell, err := config.Open(ctx, s, "/app/limits", config.JSON[Limits]())
	if err != nil {
		log.Fatal(err)
	}
	defer cell.Close(ctx)
	fmt.Println("present:", cell.Load().Present)
	for range 2 {
		_, err = cell.Update(ctx, func(l Limits) (Limits, error) {
			l.Rate += 50
			return l, nil
		})
		if err != nil {
			log.Fatal(err)
		}
	}
	for now := range cell.Observe(ctx) {
		if now.Version == 1 {
			fmt.Println("rate:", now.Value.Rate)
			break
		}
	}
	// Output:
	// present: false
	// rate: 100
}

// Somebody writes what nobody can read. The last good value goes on being used, and the cell says
// what is wrong.
func ExampleSnapshot_badData() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	server, s := connect(ctx)
	defer server.Close()
	defer s.Close(ctx)
	type Limits struct{ Rate int }

	cell, err := config.Open(ctx, s, "/app/limits", config.YAML[Limits]())
	if err != nil {
		log.Fatal(err)
	}
	defer cell.Close(ctx)
	if _, err := s.Create(ctx, "/app/limits", []byte("rate: 50"), session.Parents()); err != nil {
		log.Fatal(err)
	}
	if _, err := cell.Await(ctx); err != nil {
		log.Fatal(err)
	}
	if _, err := s.Set(ctx, "/app/limits", []byte("rate: fast"), -1); err != nil {
		log.Fatal(err)
	}
	for now := range cell.Observe(ctx) {
		if now.Err != nil {
			fmt.Println("still:", now.Value.Rate)
			fmt.Println("good:", now.Good())
			break
		}
	}
	// Output:
	// still: 50
	// good: false
}
