// Command way repeats a common operation, "lock" or "watch", on a ZooKeeper server of its own, so
// that coverage profiles of few and of many rounds show which functions each round takes.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/zktest"
)

func main() {
	if err := way(context.Background(), os.Args[1], os.Args[2]); err != nil { // the program's own life
		fmt.Fprintln(os.Stderr, "way:", err)
		os.Exit(1)
	}
}

func way(ctx context.Context, what, times string) error {
	do := map[string]func(context.Context, *session.Session, int) error{"lock": locks, "watch": watches}[what]
	if do == nil {
		return fmt.Errorf("no way is called %q", what)
	}
	rounds, err := strconv.Atoi(times)
	if err != nil {
		return err
	}
	srv, err := zktest.New()
	if err != nil {
		return err
	}
	defer func() { _ = srv.Close() }() // the end of the program anyhow
	s, err := session.Open(ctx, srv.Hosts(), session.WithDialer(srv.Dialer()))
	if err != nil {
		return err
	}
	if err := do(ctx, s, rounds); err != nil {
		return err
	}
	return s.Close(ctx)
}

// work is how long the lock is held: until its znode is watched, which is a round trip later.
const work = 2 * time.Millisecond

func locks(ctx context.Context, s *session.Session, rounds int) error {
	l, err := lock.New(s, "/lock")
	if err != nil {
		return err
	}
	for range rounds {
		l.Acquire()
		<-l.Acquired()
		<-time.After(work)
		if err := l.Release(ctx); err != nil {
			return err
		}
	}
	return nil
}

func watches(ctx context.Context, s *session.Session, rounds int) error {
	if _, err := s.Create(ctx, "/data", nil); err != nil {
		return err
	}
	data := s.WatchData(ctx, "/data")
	<-data
	for i := range rounds {
		if _, err := s.Set(ctx, "/data", []byte(strconv.Itoa(i)), -1); err != nil {
			return err
		}
		<-data
	}
	return nil
}
