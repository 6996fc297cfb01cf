package main

import (
	"context"
	"errors"

	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
)

// coordinate hands out the tree, batch by batch, for as long as the term stands. It keeps nothing
// in memory that matters: the cursor in ZooKeeper says where to go on, and moves in the same
// transaction that opens the batches, and only while the term stands. So whoever leads next, after
// whatever end, loses nothing and doubles nothing.
func (w *worker) coordinate(ctx context.Context, term *election.Term) error {
	for {
		err := w.handOut(ctx, term)
		switch {
		case errors.Is(err, session.ErrUnknownOutcome): // it happened or it didn't: the cursor says
			continue
		case errors.Is(err, session.ErrLost):
			w.reports.send(report{Refused: &refusal{Batch: handingOut, Token: term.Token()}})
		case err != nil && ctx.Err() == nil && !passing(err):
			return err
		}
		<-ctx.Done() // all is handed out, or the term is over
		return nil   // stand again
	}
}

// handingOut marks the refusal of a coordinator.
const handingOut = -1

// handOut goes on where the cursor is, until everything is handed out and done.
func (w *worker) handOut(ctx context.Context, term *election.Term) error {
	text, stat, err := w.session.Get(ctx, cursorPath)
	if err != nil {
		return err
	}
	at, err := parseCursor(string(text))
	if err != nil {
		return err
	}
	files, err := listFiles(w.dir)
	if err != nil {
		return err
	}
	if err := w.offerAgain(ctx); err != nil {
		return err
	}
	rest, version := at.remaining(files), stat.Version
	for open := range w.session.WatchChildren(ctx, openPath) {
		room := w.window - len(open.Names)
		switch {
		case !open.Exists && !open.Stale:
			return nil // a predecessor finished it
		case len(rest) > 0 && room >= w.window/2: // not one by one
			if rest, at, err = w.extend(ctx, term, rest, at, room, version); err != nil {
				return err
			}
			version++
		case len(rest) == 0 && len(open.Names) == 0:
			// ZooKeeper deletes no node that has children: this is refused while a batch is open,
			// however old our view is.
			_, err := term.Commit(ctx, session.DeleteOp(openPath, -1))
			if !errors.Is(err, session.ErrNotEmpty) {
				return err
			}
		}
	}
	return nil
}

// offerAgain puts into the queue what a predecessor may have opened and not put there any more.
func (w *worker) offerAgain(ctx context.Context) error {
	names, _, err := w.session.Children(ctx, openPath)
	if err != nil && !errors.Is(err, session.ErrNoNode) { // once all is done, it is gone
		return err
	}
	return w.offer(ctx, batchNumbers(names))
}

// offer puts batches into the queue, each under its number: one that is there is not put twice. One
// that was done meanwhile, and is put all the same, is found to be done by whoever gets it. They go
// together in few transactions.
func (w *worker) offer(ctx context.Context, numbers []int) error {
	var puts []func(context.Context) error
	for _, n := range numbers {
		puts = append(puts, func(ctx context.Context) error {
			_, err := w.line.Put(ctx, nil, queue.WithID(batchName(n)))
			if errors.Is(err, queue.ErrDuplicate) {
				return nil
			}
			return err
		})
	}
	return together(ctx, puts...)
}

// extend opens as many batches as there is room for, and moves the cursor behind them: all in one
// transaction. Then it puts them into the queue.
func (w *worker) extend(ctx context.Context, term *election.Term, rest []string, at cursor, room int, version int32) ([]string, cursor, error) {
	var ops []session.Op
	var opened []int
	for bytes := 0; room > 0 && len(rest) > 0 && bytes < maxBatchBytes; room-- {
		var b batch
		b.Term = term.Token()
		b.Files, rest = cut(rest, w.size)
		text := b.String()
		bytes += len(text)
		ops = append(ops, session.CreateOp(batchPath(at.Next), []byte(text)))
		opened = append(opened, at.Next)
		at = cursor{Next: at.Next + 1, After: b.Files[len(b.Files)-1]}
	}
	ops = append(ops, session.SetOp(cursorPath, []byte(at.String()), version))
	if _, err := term.Commit(ctx, ops...); err != nil {
		return rest, at, err
	}
	return rest, at, w.offer(ctx, opened)
}
