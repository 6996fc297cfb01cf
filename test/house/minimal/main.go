// Command minimal is a program with a session and a lock, and nothing else: make house builds it,
// to see what an application gets by importing recipes/lock.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
)

func main() {
	if err := hold(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func hold(ctx context.Context, servers []string) error {
	sess, err := session.Open(ctx, servers)
	if err != nil {
		return err
	}
	defer session.CloseWithin(sess, time.Second)
	l, err := lock.New(sess, "/lock")
	if err != nil {
		return err
	}
	return l.Do(ctx, func(context.Context, *lock.Grant) error { return nil })
}
