package queue

import (
	"context"
	"errors"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/queue/internal/browse"
	"github.com/troupe-go/troupe/session"
)

// Pause stops the delivery of items, in every process, until Resume: consumers claim nothing more,
// and calls of Take wait. What was claimed and not received goes back at once, without an attempt.
// What was received, or WithAutoAck has taken, stays. Put goes on. The pause is in ZooKeeper, with
// the process that has made it last, and outlasts that process. If there is no queue at the path,
// as after a typing error, Pause makes one there, with its parents, and that one is paused.
//
// Nothing is claimed after Pause has returned, but what a consumer has claimed before may still be
// received until a watch tells the consumer: when its connection is back, at the latest. Versions
// without Pause take no notice. That the queue is paused already is no error, nor is a lost answer:
// Pause asks again, and so does Resume. That nothing is claimed does not mean that nothing is at
// work: see [Stats]. Errors: session.ErrNoAuth; session.ErrClosed; ctx's cause.
func (q *Queue) Pause(ctx context.Context) error {
	by := znode.Identity(recipe.Identity(q.session)).Note()
	return q.setGate(ctx, "pause", by+"paused\n")
}

// Resume ends a pause: consumers look for items at once. That the queue is not paused is no error.
func (q *Queue) Resume(ctx context.Context) error { return q.setGate(ctx, "resume", "") }

// setGate writes the data that say whether the queue is paused, until their version is odd if it
// is, and even if not. A consumer's claim checks the version with which it has seen the queue open.
// So none passes a pause, even if claims/ was deleted and made again, and its versions have begun
// anew. If another operator's change comes between, that one sees to the version: two who both
// wrote again would never come to an end.
func (q *Queue) setGate(ctx context.Context, op, data string) error {
	return q.reading(op, func(browse.Queue) error {
		for at, over := q.root().Claims(), int32(-1); ; {
			stat, err := q.session.Set(ctx, at, []byte(data), over)
			over = -1
			switch {
			case err == nil && (stat.Version%2 != 0) != (data != ""):
				over = stat.Version
				continue
			case errors.Is(err, session.ErrUnknownOutcome) && ctx.Err() == nil:
				continue
			case errors.Is(err, session.ErrBadVersion), errors.Is(err, session.ErrNoNode) && data == "":
				return nil
			case errors.Is(err, session.ErrNoNode):
				if err = q.session.EnsurePath(znode.Making(ctx, q.cfg.acl), at); err == nil {
					continue
				}
			}
			return err
		}
	})
}
