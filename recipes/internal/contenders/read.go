package contenders

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/session"
)

// parallel is the number of reads in flight at once: enough to hide the round trip, few enough not
// to delay the session's other requests.
const parallel = 16

// Read lists the queue under a path and reads every contender, first to last.
func Read(ctx context.Context, s *session.Session, path string) ([]Entry, error) {
	contenders, err := list(ctx, s, path)
	if err != nil {
		return nil, err
	}
	entries, err := fetch(ctx, s, path, contenders)
	if err != nil {
		return nil, err
	}
	return entries, arrange(entries)
}

// Waiting is how many contenders wait under a path where one at a time holds: all except the first.
// It reads none of them.
func Waiting(ctx context.Context, s *session.Session, path string) (int, error) {
	all, err := list(ctx, s, path)
	return max(len(all)-1, 0), err
}

// Holder reads which client the contenders under a path wait for, for the text of an error or a
// log: the first contender, also of readers, which hold together; or the dead holder whose delay
// the first one waits for. whose takes the owner's identity from an entry's data.
//
// It costs a listing and a read, with a [Record] two reads. The result is empty if only the Czxids
// tell the order, since to read them all costs too much for a text, or if this session holds.
func Holder(ctx context.Context, s *session.Session, path string, whose func(Entry) session.Identity) (recipe.Holder, error) {
	names, _, err := s.Children(ctx, path)
	all := parse(names)
	if err != nil || len(all) == 0 {
		return recipe.Holder{}, err
	}
	c, ok := first(all)
	if !ok {
		return recipe.Holder{}, nil
	}
	data, stat, err := s.Get(ctx, znode.Join(path, c.Name))
	if err != nil {
		return recipe.Holder{}, err
	}
	if slices.Contains(names, znode.HeldRecord) {
		// The record is the dead holder's if the first contender has written into it that it waits.
		if r, err := ReadRecord(ctx, s, path); err == nil && r.Waits == stat.Czxid {
			return recipe.Holder{By: r.Who(), Until: r.Until(), Waiting: len(all) - 1}, nil
		}
	}
	if stat.EphemeralOwner == s.Status().SessionID {
		return recipe.Holder{}, nil
	}
	by := whose(Entry{Contender: c}.read(data, stat.Czxid)).String()
	return recipe.Holder{By: cmp.Or(by, fmt.Sprintf("session 0x%x", stat.EphemeralOwner)), Since: stat.Ctime, Waiting: behind(all)}, nil
}

// behind is how many contenders wait, without the one that reads this. For permits it is not known:
// 0.
func behind(all []znode.Contender) int {
	queue := slices.SortedFunc(slices.Values(all), func(a, b znode.Contender) int { return znode.CompareSeq(a.Seq, b.Seq) })
	holding := slices.IndexFunc(queue, func(c znode.Contender) bool { return c.Kind != znode.Read })
	if queue[0].Kind == znode.Lease || holding < 0 { // all are readers
		return 0
	}
	holding = max(holding, 1) // a first one that is no reader holds alone
	return max(len(queue)-holding-1, 0)
}

// Head returns the path of the first contender, or "" if there is none. It reads more than the
// listing only if the sequence numbers do not tell the order.
func Head(ctx context.Context, s *session.Session, path string) (string, error) {
	contenders, err := list(ctx, s, path)
	if err != nil {
		return "", err
	}
	return head(ctx, s, path, contenders)
}

// HeadOf is like [Head], with a known listing.
func HeadOf(ctx context.Context, s *session.Session, path string, names []string) (string, error) {
	return head(ctx, s, path, parse(names))
}

func head(ctx context.Context, s *session.Session, path string, contenders []znode.Contender) (string, error) {
	if len(contenders) == 0 {
		return "", nil
	}
	if c, ok := first(contenders); ok {
		return znode.Join(path, c.Name), nil
	}
	entries, err := fetch(ctx, s, path, contenders)
	if err == nil {
		err = arrange(entries)
	}
	if err != nil || len(entries) == 0 {
		return "", err
	}
	return entries[0].Path, nil
}

// first returns the first contender, if the sequence numbers tell it.
func first(contenders []znode.Contender) (znode.Contender, bool) {
	least, alone := contenders[0], true
	for i, c := range contenders {
		switch order := znode.CompareSeq(c.Seq, least.Seq); {
		case znode.NeedsCzxid(c.Seq):
			return c, false
		case order < 0:
			least, alone = c, true
		case order == 0 && i > 0:
			alone = false
		}
	}
	return least, alone
}

// list returns the contenders under a path, in no order.
func list(ctx context.Context, s *session.Session, path string) ([]znode.Contender, error) {
	names, _, err := s.Children(ctx, path)
	if errors.Is(err, session.ErrNoNode) {
		return nil, nil
	}
	return parse(names), err
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

// fetch reads contenders concurrently, and leaves out those that no longer exist. It ends with the
// first error.
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

// read reads one contender. It returns the zero Entry if the contender no longer exists. If the
// session may not read it, the entry has no data: servers before 3.8.4 return its Stat all the same
// to Exists, later ones refuse that too, but only if it exists (ZOOKEEPER-2590).
func read(ctx context.Context, s *session.Session, parent string, c znode.Contender) (Entry, error) {
	path := znode.Join(parent, c.Name)
	data, stat, err := s.Get(ctx, path)
	unread := errors.Is(err, session.ErrNoAuth)
	if unread {
		var exists bool
		if stat, exists, err = s.Exists(ctx, path); err == nil && !exists {
			return Entry{}, nil
		}
		if errors.Is(err, session.ErrNoAuth) {
			return Entry{Path: path, Contender: c, Unread: true}, nil
		}
	}
	switch {
	case errors.Is(err, session.ErrNoNode):
		return Entry{}, nil
	case err != nil:
		return Entry{}, err
	}
	e := Entry{Path: path, Contender: c, Unread: unread, SessionID: stat.EphemeralOwner, Since: stat.Ctime}
	if e = e.read(data, stat.Czxid); e.Held {
		e.Granted = Granted(stat)
	}
	return e, nil
}
