package election

import (
	"context"
	"time"

	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/internal/contenders"
	"github.com/troupe-go/troupe/session"
)

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
