package election

import (
	"context"
	"log/slog"
	"time"

	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/fence"
	"github.com/troupe-go/troupe/session"
)

// Term is one possession of leadership. It belongs to one epoch, and is never revived once it has
// ended: Done closes, Err says why (session.ErrReleased, or session.ErrLost wrapping
// session.ErrExpired, session.ErrUntrusted, session.ErrSuspended, session.ErrDeleted,
// session.ErrRestarted or session.ErrClosed), and the context is cancelled with that cause. Tokens
// grow from term to term, across all candidates.
type Term struct {
	*session.Hold
	election *Election
	of       *recipe.Possession
}

// wrap makes the term, and tells the log of its beginning and its end.
func (e *Election) wrap(p *recipe.Possession) *Term {
	log, began := recipe.Logger(e.session).With("recipe", "election", "path", e.session.Path(e.path), "id", e.id, "token", p.Token()), time.Now()
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
