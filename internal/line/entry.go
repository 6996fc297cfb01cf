package line

import (
	"cmp"
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/znode"
)

// Entry is a contender as it was read.
type Entry struct {
	Path      string // as the session that read it names it
	Contender znode.Contender
	Token     int64     // the Czxid that it has its place by: its own, or that of the one whose place it took
	Data      []byte    // without what it notes in front of them (znode.Notes), but for a revocation; nil also if this session may not read it
	Held      bool      // it says so itself, which only a semaphore's contender does
	SessionID int64     // owner; 0 for a znode that is not ephemeral
	Since     time.Time // when it was created, by the server's clock
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

// arrange sorts a line, first to last.
func arrange(entries []Entry) {
	if needsCzxid(entries) {
		slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Token, b.Token) })
		return
	}
	slices.SortFunc(entries, func(a, b Entry) int {
		return cmp.Or(znode.CompareSeq(a.Contender.Seq, b.Contender.Seq), cmp.Compare(a.Token, b.Token))
	})
}

func needsCzxid(entries []Entry) bool {
	return slices.ContainsFunc(entries, func(e Entry) bool { return znode.NeedsCzxid(e.Contender.Seq) })
}
