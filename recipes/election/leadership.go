package election

import (
	"bytes"
	"context"
	"errors"

	"github.com/troupe-go/troupe/internal/line"
	"github.com/troupe-go/troupe/session"
)

// Leadership says who leads, as ZooKeeper sees it: who is first in line.
type Leadership struct {
	Present bool   // somebody does; otherwise the rest is empty
	ID      string // of the candidate
	Data    []byte // what it has proclaimed
	Token   int64  // of its term
	Self    bool   // it is this candidate. Not a licence to lead: that is a [Term]
	Ready   bool   // it has said that it has taken over: see [Term.Ready]
	Stale   bool   // the connection is down: so it was when last seen

	// Unread: somebody leads, and this session may not read its znode, so that nothing else is
	// known of it: there are no ID, Data, Token and Ready, and Self is false.
	Unread bool
}

// Current asks ZooKeeper who leads. What was settled before the call is seen. Errors: [ErrNoLeader]
// if nobody stands; session.ErrNoAuth if the line may not be listed, session.ErrClosed, ctx's
// cause.
func (e *Election) Current(ctx context.Context) (Leadership, error) {
	if err := e.session.Sync(ctx, e.path); err != nil {
		return Leadership{}, failed("current", e.path, err)
	}
	for {
		head, err := line.Head(ctx, e.session, e.path)
		if err != nil {
			return Leadership{}, failed("current", e.path, err)
		}
		if head == "" {
			return Leadership{}, failed("current", e.path, ErrNoLeader)
		}
		raw, stat, err := e.session.Get(ctx, head)
		if errors.Is(err, session.ErrNoNode) {
			continue // it left meanwhile: somebody else leads, or nobody
		}
		if errors.Is(err, session.ErrNoAuth) {
			return Leadership{Present: true, Unread: true}, nil
		}
		if err != nil {
			return Leadership{}, failed("current", e.path, err)
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
