package election

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/fence"
	"github.com/troupe-go/troupe/recipes/internal/contenders"
	"github.com/troupe-go/troupe/session"
)

// Term is one possession of leadership. Its Done, Err, Context, Valid, Token, Path, Session and
// Commit are those of [session.Hold]. It belongs to one epoch, and is never revived once it has
// ended: Done closes, Err says why (session.ErrReleased, or session.ErrLost with the cause, one of
// those at session.Hold), and the context is cancelled with that cause. Tokens grow from term to
// term, across all candidates.
type Term struct {
	*session.Hold
	election *Election
	of       *recipe.Possession

	transferred atomic.Bool
}

// wrap makes the term, and tells the log of its beginning and its end.
func (e *Election) wrap(p *recipe.Possession) *Term {
	log, began := recipe.Logger(e.session).With("recipe", "election", "path", e.session.Path(e.path), "id", e.name, "token", p.Token()), time.Now()
	won, level := p.Won(log, slog.LevelInfo)
	won.Log(p.Context(), level, "leadership is won")
	context.AfterFunc(p.Context(), func() {
		log.Info("leadership has ended", "cause", p.Err(), "after", time.Since(began).Round(time.Millisecond))
	})
	return &Term{Hold: p.Hold, election: e, of: p}
}

// Resign ends this term: Done closes first, then the znode is deleted; nil means that ZooKeeper has
// confirmed the deletion. Stop leading before you call it. For a term that was lost before, it
// returns session.ErrLost. If ctx ends first its error is returned, and the deletion goes on in the
// background until the epoch ends. A ctx that ends with the term itself, as that of a function in
// [Election.Run], is replaced by one that lasts for a session timeout. Resign is idempotent. A
// standing intent queues again at the end.
func (t *Term) Resign(ctx context.Context) error {
	return recipe.Failed(t.election.session, "resign", t.election.path, t.of.Release(ctx))
}

// Sequencer describes this term as a value to send along with requests to other services, which can
// then check it: see package fence.
func (t *Term) Sequencer() fence.Sequencer {
	return fence.Sequencer{
		Path: t.election.session.Path(t.Path()), Mode: fence.Exclusive, Token: t.Token(), SessionID: t.of.SessionID(),
	}
}

// Ready tells the observers that the leader has finished taking over: the first candidate in the
// queue may not know yet that it leads. It is written to ZooKeeper only while the term is valid,
// otherwise the error is session.ErrLost; nil means that it is written. In the layouts of other
// libraries: session.ErrUnsupported.
func (t *Term) Ready(ctx context.Context) error {
	wrote := false // not by an earlier call
	err := t.amend(ctx, "ready", func(e *envelope) bool {
		if e.Ready {
			return false
		}
		e.Ready, wrote = true, true
		return true
	})
	if wrote && err == nil {
		t.of.Tell(session.EventReady)
	}
	return err
}

// Proclaim replaces the data that observers see, for the rest of this term. They are written to
// ZooKeeper only while the term is valid, otherwise the error is session.ErrLost; nil means that
// they are written. Proclaim does not change the state of Ready. Of concurrent calls, the last one
// that ZooKeeper carries out wins. In the layouts of other libraries: session.ErrUnsupported.
func (t *Term) Proclaim(ctx context.Context, data []byte) error {
	return t.amend(ctx, "proclaim", func(e *envelope) bool {
		if bytes.Equal(e.Data, data) {
			return false
		}
		e.Data = data
		return true
	})
}

// amend changes the candidate's znode by read, change and compare-and-set. If the reply to the
// write was lost, the next read shows its outcome: if it was carried out, there is nothing left to
// change.
func (t *Term) amend(ctx context.Context, op string, change func(*envelope) bool) error {
	if err := t.election.expressible(); err != nil {
		return recipe.Failed(t.election.session, op, t.Path(), err)
	}
	for {
		if err := t.over(ctx); err != nil {
			return recipe.Failed(t.election.session, op, t.Path(), err)
		}
		raw, stat, err := t.election.session.Get(ctx, t.Path())
		if errors.Is(err, session.ErrNoNode) { // the check in Commit finds that too, and ends the term
			if _, err = t.Commit(ctx, session.CheckOp(t.Path(), -1)); err == nil {
				continue
			}
		}
		if err != nil {
			return recipe.Failed(t.election.session, op, t.Path(), err)
		}
		e, ok := decode(raw)
		if !ok { // another client has overwritten it
			e = envelope{ID: t.election.name, Data: t.election.data, By: t.election.by}
		}
		if !change(&e) && ok {
			return nil
		}
		if raw, err = e.encode(); err != nil {
			return recipe.Failed(t.election.session, op, t.Path(), err)
		}
		_, err = t.Commit(ctx, session.SetOp(t.Path(), raw, stat.Version))
		if !errors.Is(err, session.ErrBadVersion) && !errors.Is(err, session.ErrUnknownOutcome) {
			return recipe.Failed(t.election.session, op, t.Path(), err)
		}
	}
}

// over is the reason why a read and a write should not be repeated: the term, or the wait, has
// ended.
func (t *Term) over(ctx context.Context) error {
	if err := t.Err(); err != nil {
		return err
	}
	return context.Cause(ctx)
}

// TransferTo hands leadership over to another candidate (see [Election.Candidates]). One
// transaction moves the candidates between it and this term to the end of the queue; it happens
// only while the term is valid and the other candidate exists. Then the term is resigned as by
// [Term.Resign], and the other candidate is next. So tokens keep growing. Stop leading before you
// call it. Only the candidate's Path and Token are used.
//
// If it fails before the term is resigned, the term stays valid, and the candidates that were moved
// have only lost their position. Errors: session.ErrNoNode if the candidate is gone,
// session.ErrNoAuth if the ACL forbids this session to read its znode, session.ErrLost if the term
// has ended, session.ErrInvalidPath if the candidate is not one of this election, or is the term's
// own. In the layouts of other libraries: session.ErrUnsupported.
func (t *Term) TransferTo(ctx context.Context, to Candidate) error {
	if err := errors.Join(t.checkTarget(to), t.election.expressible()); err != nil {
		return recipe.Failed(t.election.session, "transfer", to.Path, err)
	}
	for {
		ops, err := t.clearance(ctx, to)
		if err != nil {
			return recipe.Failed(t.election.session, "transfer", to.Path, err)
		}
		_, err = t.Commit(ctx, ops...)
		switch {
		case err == nil:
			t.transferred.Store(true)
			return t.Resign(ctx)
		case errors.Is(err, session.ErrLost), !errors.Is(err, session.ErrNoNode) && !errors.Is(err, session.ErrUnknownOutcome):
			return recipe.Failed(t.election.session, "transfer", to.Path, err)
		}
		// A candidate in between, or the target itself, left before the transaction, or the
		// transaction was carried out and its reply lost. The next read tells.
	}
}

func (t *Term) checkTarget(to Candidate) error {
	if to.Path == t.Path() {
		return fmt.Errorf("%w: Candidate.Path: that of this term's own candidate", session.ErrInvalidPath)
	}
	return t.election.check(to)
}

// clearance makes the transaction that removes all candidates between this term and the
// candidate.
func (t *Term) clearance(ctx context.Context, to Candidate) ([]session.Op, error) {
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
	current, target := at(t.Path()), at(to.Path)
	switch {
	case target < 0:
		return nil, session.ErrNoNode
	case entries[target].Unread:
		return nil, session.ErrNoAuth
	case entries[target].Token != to.Token:
		return nil, session.ErrNoNode
	}
	ops := []session.Op{session.CheckOp(to.Path, -1)}
	for i := current + 1; current >= 0 && i < target; i++ {
		ops = append(ops, session.DeleteOp(entries[i].Path, -1))
	}
	return ops, nil // if the own znode is gone, the check in Commit fails
}

// envelope is the contents of a candidate's znode, as JSON, so that any client can read it.
type envelope struct {
	ID    string `json:"id"`
	Data  []byte `json:"data,omitempty"`
	Ready bool   `json:"ready"`

	By json.RawMessage `json:"by,omitempty"` // the owner: see znode.Identity

	revoked bool // another client wrote the marker of a revocation in front; it stays
}

// decode reads an envelope; false for data of another kind.
func decode(raw []byte) (envelope, bool) {
	var e struct {
		envelope
		ID *string `json:"id"`
	}
	body, revoked := bytes.CutPrefix(raw, []byte(znode.Unlock+"\n"))
	if json.Unmarshal(body, &e) != nil || e.ID == nil {
		return envelope{}, false
	}
	e.envelope.ID, e.revoked = *e.ID, revoked
	return e.envelope, true
}

// interpret decodes any data of a candidate's znode: those that are no envelope are the name, as in
// Curator's latch.
func interpret(raw []byte) envelope {
	if e, ok := decode(raw); ok {
		return e
	}
	return envelope{ID: string(raw)}
}

func (e envelope) owner() session.Identity { return session.Identity(znode.ParseIdentity(e.By)) }

func (e envelope) encode() ([]byte, error) {
	raw, err := json.Marshal(e)
	if err == nil && e.revoked {
		raw = znode.WithUnlock(raw)
	}
	return raw, err
}
