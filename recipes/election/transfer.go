package election

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

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

// Candidate is one participant in the election, of this process or of any other. For candidates of
// other libraries, the data of the znode are the ID.
type Candidate struct {
	Path      string           // of the znode, for [Term.TransferTo]
	ID        string           // see [WithID]; see Unread
	Data      []byte           // of [WithData], or of a later Proclaim
	Owner     session.Identity // whose it is, as it says itself; zero if it does not; see Unread
	Token     int64            // of its term, once it leads; see Unread
	SessionID int64            // the ZooKeeper session that owns it; see Unread
	Since     time.Time        // when it queued, by the server's clock; see Unread
	Leading   bool             // first in the queue
	Ready     bool             // it has called [Term.Ready]
	Self      bool             // it is this candidate

	// Unread: this session may not read the znode. Then there are no ID, Data, Owner, and servers
	// since 3.8.4 do not report Token, SessionID and Since either: these are 0. Leadership can't be
	// transferred to it: see [Term.TransferTo].
	Unread bool
}

// Candidates lists the leader and the waiting candidates, in order. It syncs first, as
// [Election.Current] does. A path that does not exist has no candidates. Errors: session.ErrNoAuth,
// session.ErrClosed, ctx's cause.
func (e *Election) Candidates(ctx context.Context) ([]Candidate, error) {
	if err := e.session.Sync(ctx, e.path); err != nil {
		return nil, recipe.Failed(e.session, "candidates", e.path, err)
	}
	entries, err := contenders.Read(ctx, e.session, e.path)
	if err != nil {
		return nil, recipe.Failed(e.session, "candidates", e.path, err)
	}
	candidates := make([]Candidate, len(entries))
	for i, entry := range entries {
		content := interpret(entry.Data)
		candidates[i] = Candidate{
			Path: entry.Path, ID: content.ID, Data: content.Data, Owner: content.owner(), Token: entry.Token, SessionID: entry.SessionID, Since: entry.Since,
			Unread: entry.Unread, Leading: i == 0, Ready: content.Ready, Self: e.self(content.ID, entry.SessionID),
		}
	}
	return candidates, nil
}

// self tells whether a znode is this candidate's: it has this ID and belongs to the current
// session. A znode that an earlier epoch left does not count.
func (e *Election) self(id string, owner int64) bool {
	return id == e.id && owner == e.session.Status().SessionID
}

// waiting is how many candidates do not lead.
func (e *Election) waiting(ctx context.Context) (int, error) {
	return contenders.Waiting(ctx, e.session, e.path)
}
