// Command way does one common operation on a ZooKeeper server of its own, so that a coverage
// profile shows which functions it takes: "lock", "watch", or "nothing", which is an opening and a
// closing alone.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

func main() {
	if err := way(context.Background(), os.Args[1]); err != nil { // the program's own life
		fmt.Fprintln(os.Stderr, "way:", err)
		os.Exit(1)
	}
}

func way(ctx context.Context, what string) error {
	srv, err := zktest.New()
	if err != nil {
		return err
	}
	defer func() { _ = srv.Close() }() // the end of the program anyhow
	s, err := session.Open(ctx, srv.Hosts(), session.WithDialer(srv.Dialer()))
	if err != nil {
		return err
	}
	do := map[string]func(context.Context, *session.Session) error{
		"nothing": func(context.Context, *session.Session) error { return nil }, "lock": locks, "watch": watches,
	}[what]
	if do == nil {
		return fmt.Errorf("no way is called %q", what)
	}
	if err := do(ctx, s); err != nil {
		return err
	}
	return s.Close(ctx)
}

func locks(ctx context.Context, s *session.Session) error {
	l, err := lock.New(s, "/lock")
	if err != nil {
		return err
	}
	l.Acquire()
	return (<-l.Acquired()).Release(ctx)
}

func watches(ctx context.Context, s *session.Session) error {
	if _, err := s.Create(ctx, "/data", nil); err != nil {
		return err
	}
	data := s.WatchData(ctx, "/data")
	<-data
	if _, err := s.Set(ctx, "/data", []byte("new"), -1); err != nil {
		return err
	}
	<-data
	return nil
}
