package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
)

// worker is one process of the pool. It works on batches, and coordinates while it leads.
type worker struct {
	name    string
	tree    tree
	session *session.Session
	queue   *queue.Queue
}

// result is the znode that a worker writes when a batch is done.
type result struct {
	Worker string   `json:"worker"`
	Token  int64    `json:"token"` // of its claim, which was valid when this was written
	Sums   []string `json:"sums"`  // of the batch's files
}

// serve is the main function of a worker process. It ends when its standard input does: its parent
// stops it, or is gone.
func serve(ctx context.Context, zk, dir, name string) error {
	ctx, cancel := context.WithCancel(ctx)
	go func() { // ends with standard input, or with the process
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	t, err := list(dir)
	if err != nil {
		return err
	}
	s, err := session.Open(ctx, []string{zk}, session.WithTimeout(2*time.Second)) // short, so that its work is soon taken over
	if err != nil {
		return err
	}
	defer session.CloseWithin(s, 5*time.Second)
	q, err1 := queue.New(s, queuePath, queue.WithMaxAttempts(math.MaxInt)) // for any number of workers that die of a batch
	candidate, err2 := election.New(s, leaderPath, election.WithName(name))
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	w := &worker{name, t, s, q}
	all, running := errgroup.WithContext(ctx)
	all.Go(func() error { return w.work(running) })
	all.Go(func() error { return candidate.Run(running, w.coordinate) })
	all.Go(func() error { return w.report(running) })
	if err := all.Wait(); ctx.Err() == nil {
		return err
	}
	return nil // an error after the end is only its consequence
}

// work does one batch after the other, with the next one already claimed.
func (w *worker) work(ctx context.Context) error {
	claimed, err := w.queue.Consume(queue.WithPrefetch(2))
	if err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case item, open := <-claimed.Items():
			if !open {
				return claimed.Err()
			}
			if err := w.do(ctx, item); err != nil && !passing(err) {
				return err
			}
		}
	}
}

// do works on a batch. One transaction writes the result, and ZooKeeper carries it out only while
// the claim is valid, and only if there is no result. So nothing has to be undone after any
// failure: either the batch is done, or its number is delivered to another worker.
func (w *worker) do(ctx context.Context, item *queue.Item) error {
	n, err := strconv.Atoi(item.ID())
	if err != nil {
		return err
	}
	// A real program would stop at item.Done() to save work. Here a worker that lost its claim goes
	// on, so that its write is refused.
	text, err := json.Marshal(result{w.name, item.Token(), w.tree.hash(n)})
	if err != nil {
		return err
	}
	_, err = item.Commit(ctx, session.CreateOp(resultPath(n), text))
	switch {
	case errors.Is(err, session.ErrLost):
		fmt.Println("refused", n, item.Token())
		return err
	case err != nil && !errors.Is(err, session.ErrNodeExists): // exists: a coordinator put it again, and did not know
		return errors.Join(err, item.Nack(ctx)) // the next worker finds out whether it is done
	}
	return item.Ack(ctx) // if that fails, a worker that gets it again finds the result
}

// report tells the parent each ZooKeeper session of this process.
func (w *worker) report(ctx context.Context) error {
	last := int64(0)
	for now := range w.session.ObserveStatus(ctx) {
		if now.SessionID != 0 && now.SessionID != last {
			last = now.SessionID
			fmt.Println("session", 0, last)
		}
	}
	return w.session.Err()
}

// passing reports whether the session survives the error.
func passing(err error) bool {
	return errors.Is(err, session.ErrLost) || errors.Is(err, session.ErrUnknownOutcome) || errors.Is(err, session.ErrExpired) || errors.Is(err, session.ErrSuspended)
}
