package election

import (
	"context"
	"time"

	"github.com/troupe-go/troupe/internal/line"
)

// Candidate is one participant in the election, of this process or of any other. Candidates of
// other libraries are among them; what they wrote into their znode is taken for their ID.
type Candidate struct {
	Path      string    // of its znode, for [Term.TransferTo]
	ID        string    // see [WithID]; see Unread
	Data      []byte    // that of [WithData], or what it has proclaimed since
	Token     int64     // of its term, once it leads; see Unread
	SessionID int64     // the ZooKeeper session that it ends with; see Unread
	Since     time.Time // when it took its place, by the server's clock; see Unread
	Leading   bool      // first in line
	Ready     bool      // it has said so: see [Term.Ready]
	Self      bool      // it is this candidate

	// Unread: this session may not read its znode. There are no ID and Data then, and servers since
	// 3.8.4 do not tell Token, SessionID and Since either: these are
	// 0. It can't be handed the lead: see [Term.TransferTo].
	Unread bool
}

// Candidates lists who leads and who waits, in order. What was settled before the call is seen. An
// election that nobody ever stood in is empty. Errors: session.ErrNoAuth, session.ErrClosed, ctx's
// cause.
func (e *Election) Candidates(ctx context.Context) ([]Candidate, error) {
	if err := e.session.Sync(ctx, e.path); err != nil {
		return nil, failed("candidates", e.path, err)
	}
	entries, err := line.Read(ctx, e.session, e.path)
	if err != nil {
		return nil, failed("candidates", e.path, err)
	}
	candidates := make([]Candidate, len(entries))
	for i, entry := range entries {
		content := interpret(entry.Data)
		candidates[i] = Candidate{
			Path: entry.Path, ID: content.ID, Data: content.Data, Token: entry.Token, SessionID: entry.SessionID, Since: entry.Since,
			Unread: entry.Unread, Leading: i == 0, Ready: content.Ready, Self: e.self(content.ID, entry.SessionID),
		}
	}
	return candidates, nil
}

// self: a znode with this ID, of this session, is this candidate's. One that an earlier epoch left
// is not.
func (e *Election) self(id string, owner int64) bool {
	return id == e.id && owner == e.session.Status().SessionID
}
