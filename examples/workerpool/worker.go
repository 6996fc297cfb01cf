package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"

	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
)

// worker is one process of the pool: it works, and it coordinates while it leads.
type worker struct {
	name    string
	dir     string
	size    int // files in a batch
	window  int // batches that a coordinator keeps open
	reports *reporter
	session *session.Session

	candidate *election.Election
	lanes     [lanes]*lock.Lock
}

// join makes the worker one of the candidates, and one of those who may line up for a lane. It asks nothing of ZooKeeper yet.
func (w *worker) join() (err error) {
	if w.candidate, err = election.New(w.session, leaderPath, election.WithID(w.name)); err != nil {
		return err
	}
	for lane := range w.lanes {
		if w.lanes[lane], err = lock.New(w.session, lanePath(lane), lock.WithData([]byte(w.name))); err != nil {
			return err
		}
	}
	return nil
}

// run works and stands for coordinator until ctx ends.
func (w *worker) run(ctx context.Context) error {
	return together(ctx,
		w.work,
		func(ctx context.Context) error { return w.candidate.Run(ctx, w.coordinate) },
		w.reportEpochs,
	)
}

// work does one batch after the other. When ctx ends it finishes the one in its hands.
func (w *worker) work(ctx context.Context) error {
	graceful, cancel := after(ctx, goodbye)
	defer cancel()
	for {
		grant, n, err := w.claim(ctx)
		if grant != nil {
			err = w.do(graceful, grant, n)
		}
		if ctx.Err() != nil || err != nil && !passing(err) {
			return err
		}
	}
}

// claim finds a batch that is open and holds the lock of its lane. No grant and no error: look again.
func (w *worker) claim(ctx context.Context) (*lock.Grant, int, error) {
	open, err := w.openBatches(ctx)
	if err != nil {
		return nil, 0, err
	}
	rand.Shuffle(len(open), func(i, j int) { open[i], open[j] = open[j], open[i] })
	var tried [lanes]bool
	for _, n := range open {
		lane := laneOf(n)
		if tried[lane] {
			continue
		}
		tried[lane] = true
		if grant, err := w.lanes[lane].TryLock(ctx); !errors.Is(err, lock.ErrHeld) {
			return grant, n, err
		}
	}
	// Somebody is at work in each of these lanes, or was: stand in line for one, unless something else is handed out meanwhile.
	waiting, cancel := w.untilMore(ctx, open)
	defer cancel()
	grant, err := w.lanes[laneOf(open[0])].Lock(waiting)
	if err != nil && waiting.Err() != nil {
		return nil, 0, nil
	}
	return grant, open[0], err
}

// openBatches waits until there is something to do.
func (w *worker) openBatches(ctx context.Context) ([]int, error) {
	names, _, err := w.session.Children(ctx, openPath)
	if err != nil && !errors.Is(err, session.ErrNoNode) { // once all is done, it is gone
		return nil, err
	}
	if len(names) > 0 {
		return batchNumbers(names), nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for now := range w.session.WatchChildren(ctx, openPath) {
		if len(now.Names) > 0 {
			return batchNumbers(now.Names), nil
		}
	}
	return nil, errors.Join(context.Cause(ctx), w.session.Err())
}

// untilMore is a context that ends when a batch is open that is not among these.
func (w *worker) untilMore(ctx context.Context, known []int) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() { // owned by the caller, ends with ctx
		defer cancel()
		for now := range w.session.WatchChildren(ctx, openPath) {
			for _, n := range batchNumbers(now.Names) {
				if !slices.Contains(known, n) {
					return
				}
			}
		}
	}()
	return ctx, cancel
}

// do works on a batch under the grant of its lane. The result is written, and the batch taken away, in one transaction that ZooKeeper carries out only
// while the grant stands. So nothing has to be undone, whatever happens here: either the batch is done, or it is still open.
func (w *worker) do(ctx context.Context, grant *lock.Grant, n int) error {
	defer func() { _ = grant.Release(ctx) }() // it is confirmed, or was lost and is gone
	text, _, err := w.session.Get(ctx, batchPath(n))
	if errors.Is(err, session.ErrNoNode) {
		return nil // done by whoever held the lane before
	}
	if err != nil {
		return err
	}
	todo, err := parseBatch(string(text))
	if err != nil {
		return err
	}
	r := result{Batch: n, Term: todo.Term, Worker: w.name, Token: grant.Token()}
	for _, file := range todo.Files {
		// Not stopped by grant.Done(), as a program would that wants to save work: whoever lost the lane shall try to write, and be refused.
		r.Files = append(r.Files, hashFile(w.dir, file))
	}
	_, err = grant.Commit(ctx, session.DeleteOp(batchPath(n), -1), session.CreateOp(resultPath(n), []byte(r.String())))
	if errors.Is(err, session.ErrLost) {
		w.reports.send(report{Refused: &refusal{Batch: n, Token: grant.Token()}})
	}
	return err
}

// reportEpochs tells the parent of each ZooKeeper session that this process has.
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

// passing says that the session survives what happened: the next look at ZooKeeper shows where things are.
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
