package barrier

import (
	"context"
	"errors"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/barrier/internal/double"
	"github.com/troupe-go/troupe/session"
)

// Break breaks the round that parties are waiting in: all of them get [ErrBroken], including this
// party if it waits. Parties that arrive later are in the next round. It does not affect a round
// that has opened before, and does nothing if no party is waiting; neither is an error. A lost
// reply is resolved by reading.
func (d *Double) Break(ctx context.Context) error {
	const op = "break"
	if err := d.Err(); err != nil {
		return recipe.Failed(d.session, op, d.path, err)
	}
	for {
		again, err := d.breakOnce(ctx)
		if err != nil || !again {
			return recipe.Failed(d.session, op, d.path, err)
		}
	}
}

// breakOnce makes one attempt, and tells whether another is needed.
func (d *Double) breakOnce(ctx context.Context) (again bool, err error) {
	if err := d.session.SyncQuorum(ctx, d.path); err != nil {
		return false, err
	}
	names, _, err := d.session.Children(ctx, d.path)
	rounds := double.Rounds(names)
	if errors.Is(err, session.ErrNoNode) || err == nil && len(rounds) == 0 {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	last := rounds[len(rounds)-1]
	data, stat, err := d.session.Get(ctx, double.RoundPath(d.path, last))
	if errors.Is(err, session.ErrNoNode) {
		return true, nil // it is gone, and there is another
	}
	v := double.ParseVerdict(data)
	if err != nil || v.Kind != double.Open || double.Present(stat.NumChildren) == 0 {
		return false, err
	}
	_, err = d.session.Multi(znode.Making(ctx, d.acl), breaking(d.path, last, stat.Version, v.Parties)...)
	if errors.Is(err, session.ErrUnknownOutcome) && ctx.Err() == nil {
		return d.undecided(ctx, last)
	}
	if errors.Is(err, session.ErrBadVersion) {
		return d.undecided(ctx, last)
	}
	return false, err
}

// undecided tells whether the round is still undecided.
func (d *Double) undecided(ctx context.Context, round int64) (bool, error) {
	data, _, err := d.session.Get(ctx, double.RoundPath(d.path, round))
	if errors.Is(err, session.ErrNoNode) {
		return false, nil
	}
	return double.ParseVerdict(data).Kind == double.Open, err
}

// breaking are the operations that break a round, and create the next.
func breaking(path string, round int64, version int32, parties int) []session.Op {
	verdict := double.Verdict{Kind: double.Broken, Parties: parties, Why: double.Asked}
	ops := []session.Op{session.SetOp(double.RoundPath(path, round), verdict.Bytes(), version)}
	for _, op := range double.Opening(path, round+1, parties, machine.Any) {
		if op.Do == machine.Set {
			ops = append(ops, session.SetOp(op.Path, op.Data, op.Version))
		} else {
			ops = append(ops, session.CreateOp(op.Path, op.Data))
		}
	}
	return ops
}
