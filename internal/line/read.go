package line

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session"
)

// parallel is how many reads are in flight at once: enough to hide the round trip, few enough not to crowd out the session's other requests.
const parallel = 16

// Read lists the line under a path and reads every contender in it, first to last.
func Read(ctx context.Context, s *session.Session, path string) ([]Entry, error) {
	contenders, _, err := list(ctx, s, path)
	if err != nil {
		return nil, err
	}
	entries, err := fetch(ctx, s, path, contenders)
	if err != nil {
		return nil, err
	}
	arrange(entries)
	return entries, nil
}

// Head finds the path of the first contender in the line, "" if there is none, and the parent's stat (zero if it does not exist). Only where the
// sequence numbers can't tell does it read more than the listing.
func Head(ctx context.Context, s *session.Session, path string) (string, session.Stat, error) {
	contenders, parent, err := list(ctx, s, path)
	if err != nil || len(contenders) == 0 {
		return "", parent, err
	}
	first := slices.MinFunc(contenders, compareSeq)
	ties := 0
	for _, c := range contenders {
		if znode.NeedsCzxid(c.Seq) {
			ties = len(contenders)
			break
		}
		if c.Seq == first.Seq {
			ties++
		}
	}
	if ties == 1 {
		return znode.Join(path, first.Name), parent, nil
	}
	entries, err := fetch(ctx, s, path, contenders)
	if err != nil || len(entries) == 0 {
		return "", parent, err
	}
	arrange(entries)
	return entries[0].Path, parent, nil
}

func compareSeq(a, b znode.Contender) int { return znode.CompareSeq(a.Seq, b.Seq) }

// list returns the contenders under a path, in no order.
func list(ctx context.Context, s *session.Session, path string) ([]znode.Contender, session.Stat, error) {
	names, stat, err := s.Children(ctx, path)
	if errors.Is(err, session.ErrNoNode) {
		return nil, session.Stat{}, nil
	}
	if err != nil {
		return nil, session.Stat{}, err
	}
	return parse(names), stat, nil
}

func parse(names []string) []znode.Contender {
	contenders := make([]znode.Contender, 0, len(names))
	for _, name := range names {
		if c, ok := znode.ParseContender(name); ok {
			contenders = append(contenders, c)
		}
	}
	return contenders
}

// fetch reads contenders, several at a time, and leaves out those that are gone. The first error ends it.
func fetch(ctx context.Context, s *session.Session, parent string, contenders []znode.Contender) ([]Entry, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	entries := make([]Entry, len(contenders))
	failed := make([]error, min(parallel, len(contenders)))
	var next atomic.Int64
	var readers sync.WaitGroup
	for r := range failed {
		readers.Go(func() { // owned by this call, which waits for it
			for failed[r] == nil {
				i := int(next.Add(1)) - 1
				if i >= len(contenders) {
					return
				}
				entries[i], failed[r] = read(ctx, s, parent, contenders[i])
			}
			cancel(failed[r])
		})
	}
	readers.Wait()
	if slices.ContainsFunc(failed, func(err error) bool { return err != nil }) {
		return nil, context.Cause(ctx)
	}
	return slices.DeleteFunc(entries, func(e Entry) bool { return e.Path == "" }), nil
}

// read reads one contender; the zero Entry if it is gone.
func read(ctx context.Context, s *session.Session, parent string, c znode.Contender) (Entry, error) {
	path := znode.Join(parent, c.Name)
	data, stat, err := s.Get(ctx, path)
	if errors.Is(err, session.ErrNoAuth) {
		var exists bool // that it stands, and since when, ZooKeeper tells everybody
		if stat, exists, err = s.Exists(ctx, path); err == nil && !exists {
			return Entry{}, nil
		}
	}
	switch {
	case errors.Is(err, session.ErrNoNode):
		return Entry{}, nil
	case err != nil:
		return Entry{}, err
	}
	return Entry{
		Path: path, Contender: c, Token: stat.Czxid, Data: data, SessionID: stat.EphemeralOwner, Since: stat.Ctime,
	}, nil
}
