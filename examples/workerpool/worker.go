package main

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
)

// worker is one process of the pool. It works on batches, and coordinates while it leads.
type worker struct {
	name    string
	dir     string
	size    int // files in a batch
	window  int // batches that a coordinator keeps open
	reports *reporter
	session *session.Session

	candidate *election.Election
	line      *queue.Queue
}

// join creates the worker's candidate and its queue. It sends nothing to ZooKeeper yet.
func (w *worker) join() (err error) {
	if w.candidate, err = election.New(w.session, leaderPath, election.WithID(w.name)); err != nil {
		return err
	}
	w.line, err = queue.New(w.session, queuePath, queue.WithMaxAttempts(math.MaxInt)) // however many workers die of a batch
	return err
}

// run works and campaigns until ctx ends.
func (w *worker) run(ctx context.Context) error {
	return together(ctx,
		w.work,
		func(ctx context.Context) error { return w.candidate.Run(ctx, w.coordinate) },
		w.reportEpochs,
	)
}

// work does one batch after the other, with the next one already claimed. When ctx ends it finishes
// the current one.
func (w *worker) work(ctx context.Context) (err error) {
	graceful, cancel := after(ctx, goodbye)
	defer cancel()
	batches, err := w.line.Consume(queue.WithPrefetch(2))
	if err != nil {
		return err
	}
	defer func() { _ = batches.Close(graceful) }() // claims that could not be returned end with the session
	for {
		select {
		case <-ctx.Done():
			return nil
		case item, open := <-batches.Items():
			if !open {
				return batches.Err()
			}
			if err := w.do(graceful, item); err != nil && !passing(err) {
				return err
			}
		}
	}
}

// do works on a batch under the claim of its item. One transaction writes the result and deletes
// the batch, and ZooKeeper carries it out only while the claim is valid. So nothing has to be
// undone, whatever happens here: either the batch is done, or it is still open and its item is
// delivered to another worker.
func (w *worker) do(ctx context.Context, item *queue.Item) error {
	n, ok := batchNumber(item.ID())
	if !ok {
		return fmt.Errorf("item %q: not the number of a batch", item.ID())
	}
	w.reports.send(report{Working: true})
	defer w.reports.send(report{Idle: true})
	err := w.finish(ctx, item, n)
	switch {
	case errors.Is(err, session.ErrLost):
		w.reports.send(report{Refused: &refusal{Batch: n, Token: item.Token()}})
		return err
	case err != nil:
		return errors.Join(err, unlessLost(item.Nack(ctx))) // the worker that gets it next sees whether it is done
	}
	return unlessLost(item.Ack(ctx)) // a worker that gets it again finds no batch
}

// finish hashes the files of a batch and writes the result.
func (w *worker) finish(ctx context.Context, item *queue.Item, n int) error {
	text, _, err := w.session.Get(ctx, batchPath(n))
	if errors.Is(err, session.ErrNoNode) {
		return nil // the batch is done
	}
	if err != nil {
		return err
	}
	todo, err := parseBatch(string(text))
	if err != nil {
		return err
	}
	r := result{Batch: n, Term: todo.Term, Worker: w.name, Token: item.Token()}
	for _, file := range todo.Files {
		// A real program would stop at item.Done() to save work. Here a worker that lost its claim
		// goes on, so that its write is refused.
		r.Files = append(r.Files, hashFile(w.dir, file))
	}
	_, err = item.Commit(ctx, session.DeleteOp(batchPath(n), -1), session.CreateOp(resultPath(n), []byte(r.String())))
	return err
}

// unlessLost returns nil if the item was lost: it then belongs to another worker.
func unlessLost(err error) error {
	if errors.Is(err, session.ErrLost) {
		return nil
	}
	return err
}

// reportEpochs reports each ZooKeeper session of this process to the parent.
func (w *worker) reportEpochs(ctx context.Context) error {
	var last uint64
	for now := range w.session.Observe(ctx) {
		if now.Epoch > last && now.SessionID != 0 {
			last = now.Epoch
			w.reports.send(report{Epoch: now.Epoch, Session: now.SessionID, Timeout: now.Timeout})
		}
	}
	return w.session.Err()
}

// passing reports whether the session survives the error, so that the next read of ZooKeeper shows
// the state.
func passing(err error) bool {
	return errors.Is(err, session.ErrLost) || errors.Is(err, session.ErrUnknownOutcome) || errors.Is(err, session.ErrExpired) || errors.Is(err, session.ErrSuspended)
}

func batchNumbers(names []string) []int {
	var numbers []int
	for _, name := range names {
		if n, ok := batchNumber(name); ok {
			numbers = append(numbers, n)
		}
	}
	return numbers
}
