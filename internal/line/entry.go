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
	Token     int64     // Czxid
	Data      []byte    // nil also if this session may not read it
	SessionID int64     // owner; 0 for a znode that is not ephemeral
	Since     time.Time // when it was created, by the server's clock
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
