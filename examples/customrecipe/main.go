// Customrecipe is a user-defined recipe, written with Troupe's public packages: a revocable
// read-write lock with priorities.
//
//	go run ./examples/customrecipe            # on a ZooKeeper server inside this program
//	go run ./examples/customrecipe -zk zk1:2181
//
// # What happens
//
// The recipe is in package prio: a machine, a handle, golden traces, and random schedules of
// several machines. This program uses it: two reports read together; a batch with a low priority
// wants to write, and waits; then an urgent repair wants to write. It goes before the batch,
// although it came later, and the reports, which are less urgent, are asked to release. They do,
// the repair writes, and then the batch. On the embedded server the session of the repair is ended
// while it holds the lock: it loses the lock at once, and the batch continues. The program exits
// with status 0 only if that was the order.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/troupe-go/troupe/examples/customrecipe/prio"
	"github.com/troupe-go/troupe/examples/internal/ground"
	"github.com/troupe-go/troupe/session"
)

func main() { ground.Main("customrecipe", tell) }

func tell(ctx context.Context, g *ground.Ground, out io.Writer) error {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("the example did not finish within a minute"))
	defer cancel()
	s := &story{ground: g, out: out}
	all, ctx := errgroup.WithContext(ctx)
	reading := make(chan struct{}, 2)
	for _, name := range []string{"report one", "report two"} {
		all.Go(func() error { return s.report(ctx, name, reading) })
	}
	for range 2 {
		select {
		case <-reading:
		case <-ctx.Done():
			return all.Wait()
		}
	}
	all.Go(func() error { return s.write(ctx, "batch", 900, false) })
	all.Go(func() error { return s.write(ctx, "repair", 10, g.Embedded != nil) })
	if err := all.Wait(); err != nil {
		return err
	}
	if want := []string{"repair", "batch"}; !slices.Equal(s.wrote, want) {
		return fmt.Errorf("%v wrote, want %v", s.wrote, want)
	}
	fmt.Fprintln(out, "the repair came before the batch, and the reports released the lock for it")
	return nil
}

// story prints what happens, and records the order of the writers.
type story struct {
	ground *ground.Ground

	mu    sync.Mutex
	out   io.Writer
	wrote []string
}

func (s *story) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.out, format+"\n", args...)
}

// side opens one side of the lock in a session of its own, as a separate process would.
func (s *story) side(ctx context.Context, m prio.Mode, priority int) (*session.Session, *prio.Lock, error) {
	sess, err := s.ground.Open(ctx)
	if err != nil {
		return nil, nil, err
	}
	l, err := prio.New(sess, "/archive", m, priority)
	if err != nil {
		ground.Close(sess)
	}
	return sess, l, err
}

// report holds the lock for reading until it is asked to release it.
func (s *story) report(ctx context.Context, name string, reading chan<- struct{}) error {
	sess, l, err := s.side(ctx, prio.Read, 500)
	if err != nil {
		return err
	}
	defer ground.Close(sess)
	grant, err := l.Lock(ctx)
	if err != nil {
		return err
	}
	s.say("%s reads", name)
	reading <- struct{}{}
	select {
	case <-grant.Revoked():
		s.say("%s is asked to release the lock, and does", name)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return grant.Release(ctx)
}

// write holds the lock once for writing. With mishap, its session is ended meanwhile.
func (s *story) write(ctx context.Context, name string, priority int, mishap bool) error {
	sess, l, err := s.side(ctx, prio.Write, priority)
	if err != nil {
		return err
	}
	defer ground.Close(sess)
	grant, err := l.Lock(ctx)
	if err != nil {
		return err
	}
	s.say("%s writes, with token %d", name, grant.Token())
	s.mu.Lock()
	s.wrote = append(s.wrote, name)
	s.mu.Unlock()
	if mishap {
		s.ground.Embedded.Expire(sess.Status().SessionID)
		<-grant.Done()
		s.say("%s has lost the lock: %v", name, grant.Err())
	}
	return grant.Release(ctx)
}
