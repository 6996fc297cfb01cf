package line

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session"
)

// Entry is a contender as it was read.
type Entry struct {
	Path      string // as the session that read it names it
	Contender znode.Contender
	Token     int64     // the Czxid that it has its place by: its own, or that of the one whose place it took; 0 if it is unread, and the server does not tell
	Unread    bool      // this session may not read it
	Data      []byte    // without what it notes in front of them (znode.Notes), but for a revocation; nil also if this session may not read it
	Held      bool      // it says so itself, which only a semaphore's contender does
	SessionID int64     // owner; 0 for a znode that is not ephemeral, or not told
	Since     time.Time // when it was created, by the server's clock; zero if not told
}

// read is what a contender's data and Stat say.
func (e Entry) read(data []byte, token int64) Entry {
	e.Token, e.Data = token, data
	notes, own := znode.ParseNotes(data)
	placed := notes.Placed > 0 && e.Contender.Kind == znode.Read
	if placed {
		e.Token = notes.Placed
	}
	if e.Held = notes.Held && e.Contender.Marks(); e.Held || placed {
		e.Data = znode.Notes{Unlock: notes.Unlock}.Write(own)
	}
	return e
}

// arrange sorts a line, first to last. Where only the Czxids tell the order, and the server does
// not tell one of them, the error is session.ErrNoAuth.
func arrange(entries []Entry) error {
	if needsCzxid(entries) {
		if i := slices.IndexFunc(entries, func(e Entry) bool { return e.Token == 0 }); i >= 0 {
			return fmt.Errorf("%w: the position of %s in the queue", session.ErrNoAuth, entries[i].Path)
		}
		slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Token, b.Token) })
		return nil
	}
	slices.SortFunc(entries, func(a, b Entry) int {
		return cmp.Or(znode.CompareSeq(a.Contender.Seq, b.Contender.Seq), cmp.Compare(a.Token, b.Token))
	})
	return nil
}

func needsCzxid(entries []Entry) bool {
	return slices.ContainsFunc(entries, func(e Entry) bool { return znode.NeedsCzxid(e.Contender.Seq) })
}
