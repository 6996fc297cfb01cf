package election

import (
	"context"

	"github.com/troupe-go/troupe/internal/host"
	"github.com/troupe-go/troupe/recipes/fence"
	"github.com/troupe-go/troupe/session"
)

// Term is one possession of the lead. It belongs to one epoch, and once over it is over for ever:
// Done closes, Err says how (session.ErrReleased, or session.ErrLost wrapping session.ErrExpired,
// session.ErrUntrusted, session.ErrSuspended, session.ErrDeleted, session.ErrRestarted or
// session.ErrClosed), and the context is cancelled with that cause. Tokens of successive terms
// grow, whoever leads.
type Term struct {
	*session.Hold
	election *Election
	of       *host.Possession
}

func (e *Election) wrap(p *host.Possession) *Term { return &Term{Hold: p.Hold, election: e, of: p} }

// Resign gives up this term: Done closes first, then the znode is deleted, and nil means that
// ZooKeeper has confirmed it. Stop leading before you call it. A term that had been lost before
// says so (session.ErrLost). If ctx ends first its error is returned and the deletion goes on in
// the background until the epoch ends; a ctx that ends with the term itself, as that of a function
// in [Election.Run], counts as one that lasts for a session timeout. It is idempotent. A standing
// intent stands again at the end of the line.
func (t *Term) Resign(ctx context.Context) error {
	return failed("resign", t.election.path, t.of.Release(ctx))
}

// Sequencer returns this term as a value to send along with requests to other services, which can
// then check it: see package fence.
func (t *Term) Sequencer() fence.Sequencer {
	return fence.Sequencer{
		Path: t.election.session.Path(t.Path()), Mode: fence.Exclusive, Token: t.Token(), SessionID: t.of.SessionID(),
	}
}
