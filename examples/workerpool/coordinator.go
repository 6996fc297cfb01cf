package main

import (
	"context"
	"errors"

	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
)

// coordinate creates batches for as long as the term lasts. It keeps no state of its own: the
// cursor in ZooKeeper says where to continue, and moves in the same transaction that creates the
// batches, and only while the term is valid. So the next leader, however this term ends, neither
// loses a batch nor creates one twice.
func (w *worker) coordinate(ctx context.Context, term *election.Term) error {
	for {
		err := w.handOut(ctx, term)
		switch {
		case errors.Is(err, session.ErrUnknownOutcome): // it may have happened: the cursor tells
			continue
		case errors.Is(err, session.ErrLost):
			w.reports.send(report{Refused: &refusal{Batch: handingOut, Token: term.Token()}})
		case err != nil && ctx.Err() == nil && !passing(err):
			return err
		}
		<-ctx.Done() // all batches are done, or the term is over
		return nil   // campaign again
	}
}

// handingOut is the Batch of a refusal that a coordinator got.
const handingOut = -1

// handOut continues at the cursor until all batches have been created and done.
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
			return nil // a previous coordinator has finished
		case len(rest) > 0 && room >= w.window/2: // not one at a time
			if rest, at, err = w.extend(ctx, term, rest, at, room, version); err != nil {
				return err
			}
			version++
		case len(rest) == 0 && len(open.Names) == 0:
			// ZooKeeper does not delete a znode that has children. So this is refused while a batch
			// is open, even if this process's view is old.
			_, err := term.Commit(ctx, session.DeleteOp(openPath, -1))
			if !errors.Is(err, session.ErrNotEmpty) {
				return err
			}
		}
	}
	return nil
}

// offerAgain puts open batches into the queue: a previous coordinator may have created them and
// ended before it put them there.
func (w *worker) offerAgain(ctx context.Context) error {
	names, _, err := w.session.Children(ctx, openPath)
	if err != nil && !errors.Is(err, session.ErrNoNode) { // it is deleted when all batches are done
		return err
	}
	return w.offer(ctx, batchNumbers(names))
}

// offer puts batches into the queue, each with its number as id, so a batch that is in the queue is
// not put twice. A batch that was done in the meantime is put again; the worker that claims it
// finds no batch. Concurrent puts share transactions.
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

// extend creates as many batches as there is room for, and moves the cursor past them, in one
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
