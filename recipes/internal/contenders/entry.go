package contenders

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session"
)

// Entry is a contender and its data.
type Entry struct {
	Path      string // relative to the namespace of the session that read it
	Contender znode.Contender
	Unread    bool // the session may not read it: no data; since server 3.8.4 no Token, SessionID and Since either

	// From its Stat.
	Token     int64     // the Czxid that determines its position: its own, or of a reader that was a writer, the writer's
	SessionID int64     // owner; 0 if the znode is not ephemeral
	Since     time.Time // when it was created, by the server's clock

	// From its data.
	Data    []byte // its own, without the notes before them (znode.Notes)
	Revoked bool   // it is asked to give up
	Owner   session.Identity
	Held    bool      // they say that it holds; only contenders of semaphores are marked so
	Granted time.Time // when it was marked; zero if that is unknown
}

// read returns the entry with what a contender's data say. A reader that was a writer has the
// writer's Czxid there; czxid is the znode's own.
func (e Entry) read(data []byte, czxid int64) Entry {
	notes, body := znode.ParseNotes(data)
	e.Token, e.Revoked, e.Data = czxid, notes.Unlock, bytes.TrimPrefix(data, []byte(znode.Unlock+"\n"))
	placed := notes.Placed > 0 && e.Contender.Kind == znode.Read
	if placed {
		e.Token = notes.Placed
	}
	e.Held = notes.Held && e.Contender.Marks()
	if e.Held || placed { // otherwise what looks like notes is its own data
		e.Data = body
	}
	owner, rest := znode.CutIdentity(e.Data)
	e.Owner, e.Data = session.Identity(owner), znode.Unshield(rest)
	return e
}

// Granted is when a contender was marked as holding, if that was the only change of its znode.
func Granted(stat session.Stat) (at time.Time) {
	if stat.Version == 1 {
		at = stat.Mtime
	}
	return at
}

// arrange sorts contenders, first to last. If only the Czxids tell the order and one of them is
// unknown, the error is session.ErrNoAuth.
func arrange(entries []Entry) error {
	if slices.ContainsFunc(entries, func(e Entry) bool { return znode.NeedsCzxid(e.Contender.Seq) }) {
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

// Record is what the contenders of a lock with a delay write beside them: see [znode.Record].
type Record struct {
	znode.Record
	At     time.Time // when it was written, by the server's clock
	Unread bool      // this session may not read it
	Stale  bool      // of an observer: the connection is down
}

// ReadRecord reads the record under a path. Without one it is the zero value.
func ReadRecord(ctx context.Context, s *session.Session, path string) (Record, error) {
	data, stat, err := s.Get(ctx, znode.Join(path, znode.HeldRecord))
	if errors.Is(err, session.ErrNoNode) {
		err = nil
	}
	return Record{Record: znode.ParseRecord(data), At: stat.Mtime}, err
}

// Who is the holder that wrote the record.
func (r Record) Who() string {
	return cmp.Or(r.By.String(), fmt.Sprintf("the holder with token %d", r.Token))
}

// Until is when the delay of the contender that waits ends; zero if none does.
func (r Record) Until() (at time.Time) {
	if r.Waits != 0 {
		at = r.At.Add(time.Duration(r.Delay) * time.Millisecond)
	}
	return at
}
