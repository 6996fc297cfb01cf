package work

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/troupe-go/troupe/recipes/lock"
	"github.com/troupe-go/troupe/session"
	"github.com/troupe-go/troupe/test/chaos/internal/history"
)

func init() { loads["commit"] = commitLoad }

// denied is how many commits a worker reads again and again after a read has not found them.
const denied = 200

// commitLoad: the holder of a lock creates a znode by Commit. If the outcome is not known it reads,
// behind a transaction, whether the znode exists. If it does not, it must never exist later.
func commitLoad(ctx context.Context, e *env) {
	l, err := lock.New(e.sess, "/commit/line", lock.WithLayout(lock.Troupe))
	if err != nil {
		e.failed("new", err)
		return
	}
	defer e.release(ctx, "close", l.Close)
	for e.busy.Err() == nil && e.sess.EnsurePath(e.busy, markPath) != nil {
		pause(e.busy, e.Timeout/10)
	}
	var missing []string
	for n := 0; e.busy.Err() == nil; n++ {
		g, err := e.lockOnce(ctx, l)
		if err != nil {
			if err != errGaveUp && !ended(ctx, err) {
				e.failed("lock", err)
			}
			continue
		}
		for i := range 1 + e.rand.IntN(4) {
			mark := fmt.Sprintf("%s/%s.%d.%d", markPath, e.Name, n, i)
			if e.mark(ctx, g, mark) {
				missing = append(missing, mark)
			}
		}
		e.release(ctx, "release", g.Release)
		missing = missing[max(0, len(missing)-denied):]
		if len(missing) > 0 {
			e.seen(ctx, missing[e.rand.IntN(len(missing))])
		}
		pause(e.busy, e.span(100*time.Millisecond))
	}
	for _, mark := range missing {
		e.seen(ctx, mark)
	}
}

// mark commits the creation of a znode. It returns true if the outcome was not known, and the znode
// does not exist.
func (e *env) mark(ctx context.Context, g *lock.Grant, path string) bool {
	bounded, cancel := context.WithTimeout(ctx, 3*e.Timeout)
	defer cancel()
	_, err := g.Commit(bounded, session.CreateOp(path, nil))
	switch {
	case err == nil:
		e.moved()
		_ = e.sess.Delete(bounded, path, -1) // else it stays
		return false
	case !errors.Is(err, session.ErrUnknownOutcome):
		e.check(bounded, "commit", err)
		return false
	}
	there, known := e.seen(ctx, path)
	return known && !there
}

// seen reads whether a znode exists, and records the answer.
func (e *env) seen(ctx context.Context, path string) (there, known bool) {
	bounded, cancel := context.WithTimeout(ctx, 3*e.Timeout)
	defer cancel()
	from := history.Now()
	if _, err := e.sess.Multi(bounded, session.CheckOp(markPath, -1)); err != nil {
		return false, false
	}
	_, there, err := e.sess.Exists(bounded, path)
	if err != nil {
		return false, false
	}
	ev := history.Event{Kind: history.Read, Work: e.work, Thing: path, Party: e.Name, From: from, Value: history.Missing}
	if there {
		ev.Value = history.There
	}
	e.Write(ev)
	return there, true
}
