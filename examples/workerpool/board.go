package main

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/session"
)

// board is what the parent sees in ZooKeeper: the results as they are written, and the leader.
type board struct {
	session  *session.Session
	election *election.Election

	mu        sync.Mutex
	results   map[int]stored
	files     int
	bytes     int64
	leader    string
	term      int64
	takeovers int
}

// newBoard returns a board. The parent observes the election but is not a candidate.
func newBoard(s *session.Session) (*board, error) {
	b := &board{session: s, results: make(map[int]stored)}
	var err error
	if b.election, err = election.New(s, leaderPath); err != nil {
		return nil, err
	}
	return b, nil
}

// follow keeps the board up to date until all work is done, or ctx ends.
func (b *board) follow(ctx context.Context) error {
	ctx, finished := context.WithCancel(ctx)
	defer finished()
	return together(ctx,
		b.followLeader,
		b.followResults,
		func(ctx context.Context) error {
			defer finished()
			return b.awaitEnd(ctx)
		},
	)
}

func (b *board) followLeader(ctx context.Context) error {
	for now := range b.election.Observe(ctx) {
		b.mu.Lock()
		b.leader = now.ID
		if now.Present && now.Token > b.term {
			if b.term != 0 {
				b.takeovers++
			}
			b.term = now.Token
		}
		b.mu.Unlock()
	}
	return b.session.Err()
}

func (b *board) followResults(ctx context.Context) error {
	for now := range b.session.WatchChildren(ctx, resultsPath) {
		if err := b.collect(ctx, now.Names); err != nil && !passing(err) {
			return err
		}
	}
	return b.session.Err()
}

// awaitEnd returns when the coordinator has deleted the parent of open batches, which it does when
// the last one is done.
func (b *board) awaitEnd(ctx context.Context) error {
	for now := range b.session.WatchChildren(ctx, openPath) {
		if !now.Exists && !now.Stale {
			return nil
		}
	}
	return errors.Join(context.Cause(ctx), b.session.Err())
}

// all returns every result. Call it when no worker writes any more.
func (b *board) all(ctx context.Context) ([]stored, error) {
	names, _, err := b.session.Children(ctx, resultsPath)
	if err != nil {
		return nil, err
	}
	if err := b.collect(ctx, names); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var results []stored
	for _, r := range b.results {
		results = append(results, r)
	}
	return results, nil
}

// collect reads those of the named results that are not known yet.
func (b *board) collect(ctx context.Context, names []string) error {
	for _, n := range slices.Sorted(slices.Values(batchNumbers(names))) {
		b.mu.Lock()
		_, known := b.results[n]
		b.mu.Unlock()
		if known {
			continue
		}
		text, stat, err := b.session.Get(ctx, resultPath(n))
		if err != nil {
			return err
		}
		r, err := parseResult(string(text))
		if err != nil {
			return err
		}
		b.add(stored{result: r, Number: n, Czxid: stat.Czxid})
	}
	return nil
}

func (b *board) add(r stored) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.results[r.Number] = r
	b.files += len(r.Files)
	for _, f := range r.Files {
		b.bytes += f.Size
	}
}

// now returns a snapshot, for the progress line and for the choice of victims.
func (b *board) now() (files int, bytes int64, leader string, takeovers int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.files, b.bytes, b.leader, b.takeovers
}
