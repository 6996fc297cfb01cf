package main

import (
	"context"
	"fmt"
	"time"

	"github.com/troupe-go/troupe/examples/internal/ground"
	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
)

// neighbour is another process. It holds what the loop wants, and releases it.
type neighbour struct {
	session *session.Session
	grant   *lock.Grant
	term    *election.Term
	line    *queue.Queue
}

func newNeighbour(ctx context.Context, g *ground.Ground) (*neighbour, error) {
	s, err := g.Open(ctx)
	if err != nil {
		return nil, err
	}
	line, err := queue.New(s, queuePath)
	if err != nil {
		ground.Close(s)
		return nil, err
	}
	return &neighbour{session: s, line: line}, nil
}

func (n *neighbour) takeEverything(ctx context.Context) error {
	press, err := lock.New(n.session, lockPath)
	if err != nil {
		return err
	}
	if n.grant, err = press.Lock(ctx); err != nil {
		return err
	}
	leader, err := election.New(n.session, electionPath)
	if err != nil {
		return err
	}
	n.term, err = leader.Lead(ctx)
	return err
}

// letGo releases one after the other.
func (n *neighbour) letGo(ctx context.Context) error {
	steps := []func(ctx context.Context) error{
		n.grant.Release,
		func(ctx context.Context) error { return n.put(ctx, "first") },
		n.term.Resign,
		func(ctx context.Context) error { return n.put(ctx, "second") },
		func(ctx context.Context) error { return n.put(ctx, "third") },
	}
	for _, step := range steps {
		select {
		case <-time.After(100 * time.Millisecond): // so that a reader can follow
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (n *neighbour) put(ctx context.Context, job string) error {
	if _, err := n.line.Put(ctx, []byte(job)); err != nil {
		return fmt.Errorf("job %s: %w", job, err)
	}
	return nil
}

func (n *neighbour) close() { ground.Close(n.session) }
