package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/test/chaos/internal/history"
	"github.com/troupe-go/troupe/test/chaos/internal/work"
)

// leftovers records the znodes that are left when all workers have ended. Servers delete empty
// containers after a while, so it waits for that.
func (w *world) leftovers(ctx context.Context, s Settings) {
	within, cancel := context.WithTimeout(ctx, 6*s.Timeout+10*time.Second)
	defer cancel()
	for {
		left, err := w.tree(within, "/")
		if err != nil {
			w.notes.Write(history.Event{Kind: history.Failed, Work: "leftovers", Thing: "tree", Value: err.Error()})
			return
		}
		var extra []string
		for _, path := range left {
			if !work.Stays(path) {
				extra = append(extra, path)
			}
		}
		if len(extra) == 0 {
			return
		}
		w.pause(within, time.Second)
		if within.Err() == nil {
			continue
		}
		for _, path := range extra[:min(len(extra), 10)] {
			stat, _, err := w.watcher.Exists(ctx, path)
			w.notes.Write(history.Event{
				Kind: history.Failed, Work: "leftovers", Thing: path,
				Value: fmt.Sprintf("one of %d znodes that were left: %+v, %v", len(extra), stat, err),
			})
		}
		return
	}
}

// tree lists all paths below one.
func (w *world) tree(ctx context.Context, path string) ([]string, error) {
	names, _, err := w.watcher.Children(ctx, path)
	if errors.Is(err, session.ErrNoNode) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []string
	for _, name := range names {
		child := path + "/" + name
		if path == "/" {
			child = path + name
		}
		below, err := w.tree(ctx, child)
		if err != nil {
			return nil, err
		}
		all = append(append(all, child), below...)
	}
	return all, nil
}
