package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/test/chaos/internal/history"
	"github.com/troupe-go/troupe/test/chaos/internal/work"
)

// leftovers records the znodes that are left when all workers have ended. It waits for those that
// ZooKeeper still deletes: the ephemeral ones of killed workers, whose sessions have to expire, and
// empty containers, level by level, each a few seconds after its last child (see open).
func (w *world) leftovers(ctx context.Context, s Settings) {
	waiting, cancel := context.WithTimeout(ctx, 6*s.Timeout+10*time.Second)
	defer cancel()
	var extra []string // of the last listing that was not cut short
	for {
		left, err := w.tree(waiting, "/")
		if err != nil && len(extra) > 0 && waiting.Err() != nil {
			break
		}
		if err != nil {
			w.recorder.Write(history.Event{Kind: history.Failed, Work: "leftovers", Thing: "tree", Value: err.Error()})
			return
		}
		if extra = slices.DeleteFunc(left, work.Stays); len(extra) == 0 {
			return
		}
		if w.pause(waiting, time.Second); waiting.Err() != nil {
			break
		}
	}
	for _, path := range extra[:min(len(extra), 10)] {
		stat, _, err := w.watcher.Exists(ctx, path)
		w.recorder.Write(history.Event{
			Kind: history.Failed, Work: "leftovers", Thing: path,
			Value: fmt.Sprintf("one of %d znodes that were left: %+v, %v", len(extra), stat, err),
		})
	}
}

// tree returns all paths below one. Znodes that are deleted meanwhile are left out.
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
