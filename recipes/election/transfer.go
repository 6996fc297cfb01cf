package election

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/internal/contenders"
	"github.com/troupe-go/troupe/session"
)

// TransferTo hands leadership over to another candidate (see [Election.Candidates]). One
// transaction moves the candidates between it and this term to the end of the queue; it happens
// only while the term is valid and the other candidate exists. Then the term is resigned as by
// [Term.Resign], and the other candidate is next. So tokens keep growing. Stop leading before you
// call it.
//
// If it fails before the term is resigned, the term stays valid, and the candidates that were moved
// have only lost their position. Errors: session.ErrNoNode if the candidate is gone,
// session.ErrNoAuth if this session may not read its znode, session.ErrLost if the term has ended.
// In the layouts of other libraries: session.ErrUnsupported.
func (t *Term) TransferTo(ctx context.Context, candidatePath string) error {
	if err := errors.Join(t.checkTarget(candidatePath), t.election.expressible()); err != nil {
		return recipe.Failed(t.election.session, "transfer", candidatePath, err)
	}
	for {
		ops, err := t.clearance(ctx, candidatePath)
		if err != nil {
			return recipe.Failed(t.election.session, "transfer", candidatePath, err)
		}
		_, err = t.Commit(ctx, ops...)
		switch {
		case err == nil:
			return t.Resign(ctx)
		case errors.Is(err, session.ErrLost), !errors.Is(err, session.ErrNoNode) && !errors.Is(err, session.ErrUnknownOutcome):
			return recipe.Failed(t.election.session, "transfer", candidatePath, err)
		}
		// A candidate in between, or the target itself, left before the transaction, or the
		// transaction was carried out and its reply lost. The next read tells.
	}
}

func (t *Term) checkTarget(path string) error {
	if err := znode.Validate(path); err != nil {
		return fmt.Errorf("%w: candidatePath: %w", session.ErrInvalidPath, err)
	}
	parent, name := znode.Split(path)
	_, ok := znode.ParseContender(name)
	switch {
	case parent != t.election.path || !ok:
		return fmt.Errorf("%w: candidatePath: not the path of a candidate in this election", session.ErrInvalidPath)
	case path == t.Path():
		return fmt.Errorf("%w: candidatePath: the path of this term's own candidate", session.ErrInvalidPath)
	}
	return nil
}

// clearance returns the transaction that removes all candidates between this term and the
// candidate.
func (t *Term) clearance(ctx context.Context, candidatePath string) ([]session.Op, error) {
	if err := t.over(ctx); err != nil {
		return nil, err
	}
	entries, err := contenders.Read(ctx, t.election.session, t.election.path)
	if err != nil {
		return nil, err
	}
	at := func(path string) int {
		return slices.IndexFunc(entries, func(e contenders.Entry) bool { return e.Path == path })
	}
	current, target := at(t.Path()), at(candidatePath)
	if target < 0 {
		return nil, session.ErrNoNode
	}
	ops := []session.Op{session.CheckOp(candidatePath, -1)}
	for i := current + 1; current >= 0 && i < target; i++ {
		ops = append(ops, session.DeleteOp(entries[i].Path, -1))
	}
	return ops, nil // without an own znode the guard fails
}
