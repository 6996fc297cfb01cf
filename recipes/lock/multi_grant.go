package lock

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/session"
)

// MultiGrant is one possession of all the locks of a [Multi]. It ends with the first of its parts
// that ends, at the same instant and with the same Err. The other parts are then released
// automatically, and end with session.ErrReleased; after a loss their delays ([WithDelay]) apply
// all the same. Its Path and Token are those of the first part in the order of the paths;
// [MultiGrant.Grants] has those of every part. Commit happens only while all parts are valid, and
// is session.ErrUnsupported if they belong to several sessions.
type MultiGrant struct {
	*session.Hold
	grants []*Grant
	end    func(cause error) bool
	closed atomic.Bool // by Multi.Close
}

func newMultiGrant(grants []*Grant) *MultiGrant {
	g := &MultiGrant{grants: slices.Clone(grants)}
	holds := make([]*session.Hold, len(grants))
	for i, part := range grants {
		holds[i] = part.Hold
	}
	g.Hold, g.end = recipe.JoinHolds(holds, g.leave)
	return g
}

// Grants are the parts, in the order of their paths: for their tokens, their sequencers, and their
// [Grant.Revoked]. If a part is released or downgraded, the whole ends.
func (g *MultiGrant) Grants() []*Grant { return slices.Clone(g.grants) }

// Release releases all parts: Done closes first, then the znodes are deleted; nil means that
// ZooKeeper has confirmed all deletions. For a grant that was lost before, it returns
// session.ErrLost. If ctx ends first its error is returned, and the deletions go on in the
// background until the epochs end. A ctx that ends with the grant itself, as in [Multi.Do], is
// replaced by one that lasts for a session timeout. It is idempotent.
func (g *MultiGrant) Release(ctx context.Context) error {
	if slices.ContainsFunc(g.grants, func(part *Grant) bool { return part.lock.instance.HeldIn(ctx) }) {
		var cancel context.CancelFunc
		ctx, cancel = recipe.Afterwards(ctx, g.Session())
		defer cancel()
	}
	g.end(session.ErrReleased)
	g.leave(g.Err())
	err := release(ctx, g.grants)
	if over := g.Err(); !errors.Is(over, session.ErrReleased) {
		return failed(g.grants[0].lock.session, "release", g.grants[0].lock.path, over)
	}
	return err
}

// leave ends the parts without waiting, for the reason that the whole has ended for. If that was
// lost, the parts that were not are not given up either: their delays apply.
func (g *MultiGrant) leave(reason error) {
	if errors.Is(reason, session.ErrReleased) || g.closed.Load() {
		giveUp(g.grants)
		return
	}
	for _, part := range slices.Backward(g.grants) {
		part.of.Lose()
	}
}

// release releases grants and waits for the confirmation of all.
func release(ctx context.Context, grants []*Grant) error {
	giveUp(grants)
	errs := make([]error, len(grants))
	var confirmed sync.WaitGroup
	for i, g := range grants {
		confirmed.Go(func() { errs[i] = g.Release(ctx) }) // owned by this call, which waits for it
	}
	confirmed.Wait()
	return errors.Join(errs...)
}

// giveUp ends grants, in reverse order of acquisition, without waiting.
func giveUp(grants []*Grant) {
	for _, g := range slices.Backward(grants) {
		g.of.GiveUp()
	}
}
