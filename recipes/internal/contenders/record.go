package contenders

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session"
)

// Record is what the contenders of a lock with a delay write beside them.
type Record struct {
	znode.Record
	At     time.Time // when it was written, by the server's clock
	Unread bool      // this session may not read it
}

// ReadRecord reads the record under a path. Without one it is the zero value.
func ReadRecord(ctx context.Context, s *session.Session, path string) (Record, error) {
	data, stat, err := s.Get(ctx, znode.Join(path, znode.HeldRecord))
	if errors.Is(err, session.ErrNoNode) {
		err = nil
	}
	return Record{Record: znode.ParseRecord(data), At: stat.Mtime}, err
}

// Who is whose the record is.
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
