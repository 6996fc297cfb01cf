package election

import (
	"bytes"
	"context"
	"errors"

	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/internal/contenders"
	"github.com/troupe-go/troupe/session"
)

// Leadership describes the leader as ZooKeeper sees it: the first candidate in the queue.
type Leadership struct {
	Present bool   // there is a leader; otherwise the rest is empty
	ID      string // of the candidate
	Data    []byte // of [WithData], or of a later Proclaim
	Token   int64  // of its term
	Self    bool   // it is this candidate. Only a [Term] entitles it to lead
	Ready   bool   // it has finished taking over: see [Term.Ready]
	Stale   bool   // the connection is down: this is the last known state

	// Unread: there is a leader, but this session may not read its znode. Then there are no ID,
	// Data, Token and Ready, and Self is false.
	Unread bool
}

// Current asks ZooKeeper for the leader. It syncs first (session.Session.Sync), so it sees
// everything that was decided before the call, or up to some milliseconds before it if the session
// is connected to the leader among ZooKeeper's servers. Errors: [ErrNoLeader] if there is no
// candidate; session.ErrNoAuth if the candidates may not be listed, session.ErrClosed, ctx's cause.
func (e *Election) Current(ctx context.Context) (Leadership, error) {
	if err := e.session.Sync(ctx, e.path); err != nil {
		return Leadership{}, recipe.Failed(e.session, "current", e.path, err)
	}
	for {
		head, err := contenders.Head(ctx, e.session, e.path)
		if err != nil {
			return Leadership{}, recipe.Failed(e.session, "current", e.path, err)
		}
		if head == "" {
			return Leadership{}, recipe.Failed(e.session, "current", e.path, ErrNoLeader)
		}
		raw, stat, err := e.session.Get(ctx, head)
		if errors.Is(err, session.ErrNoNode) {
			continue // it left meanwhile: look again
		}
		if errors.Is(err, session.ErrNoAuth) {
			return Leadership{Present: true, Unread: true}, nil
		}
		if err != nil {
			return Leadership{}, recipe.Failed(e.session, "current", e.path, err)
		}
		return e.leadership(raw, stat), nil
	}
}

func (e *Election) leadership(raw []byte, stat session.Stat) Leadership {
	content := interpret(raw)
	return Leadership{
		Present: true, ID: content.ID, Data: content.Data, Token: stat.Czxid, Ready: content.Ready,
		Self: e.self(content.ID, stat.EphemeralOwner),
	}
}

func (l Leadership) equal(o Leadership) bool {
	return bytes.Equal(l.Data, o.Data) && l.Present == o.Present && l.ID == o.ID && l.Token == o.Token && l.Self == o.Self && l.Ready == o.Ready && l.Stale == o.Stale && l.Unread == o.Unread
}
