package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/troupe-go/troupe/recipes/election"
	"github.com/troupe-go/troupe/recipes/queue"
	"github.com/troupe-go/troupe/session"
)

// window is how many batches are in the queue at a time.
const window = 16

// coordinate puts the numbers of batches into the queue for as long as the term lasts, the next
// ones as results arrive. It keeps no state of its own: the results and the queue in ZooKeeper show
// where to continue. A number that is in the queue is not put twice, and ZooKeeper refuses to put
// one under a term that is over. A batch that is done meanwhile may be put again: the worker that
// gets it finds the result.
func (w *worker) coordinate(ctx context.Context, term *election.Term) error {
	put := make(map[string]bool)
	for now := range w.session.WatchChildren(ctx, resultsPath) {
		done := make(map[string]bool)
		for _, name := range now.Names {
			done[name] = true
		}
		for n, open := 0, 0; n < w.tree.batches() && open < window; n++ {
			name := batchName(n)
			if done[name] {
				continue
			}
			open++
			if put[name] {
				continue
			}
			_, err := w.queue.Put(ctx, nil, queue.WithID(name), queue.WithHold(term))
			switch {
			case errors.Is(err, session.ErrLost):
				fmt.Println("refused", n, term.Token())
				return nil // campaign again
			case err != nil && (passing(err) || ctx.Err() != nil):
				return nil //nolint:nilerr // the next coordinator sees whether it was put
			case err != nil && !errors.Is(err, queue.ErrDuplicate):
				return err
			}
			put[name] = true
		}
	}
	return nil // the term is over
}
