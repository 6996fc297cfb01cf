// Package look reads a queue for those who do not claim anything, with blocking calls: it counts,
// shows the head, and removes.
package look

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
	"github.com/troupe-go/troupe/session"
)

// ErrEmpty: nothing can be claimed.
var ErrEmpty = errors.New("the queue is empty")

// Queue is one in ZooKeeper.
type Queue struct {
	Session *session.Session
	Root    layout.Root
	Home    int // the part of the room that it gives back to
}

// state is what the queue's znodes said, one after the other.
type state struct {
	buckets []place.Bucket // in order
	cursor  layout.Cursor
	version int32 // of the cursor
	named   map[layout.Position]named
	back    []layout.Returned // that came back, or will if somebody asks for them; in order
	moves   int32             // how often something came back, or was claimed then
	marks   map[string]bool   // of removed items
}

// named is an entry of a journal, or one that came back.
type named struct {
	entry layout.Entry
	guard session.Op // holds as long as the entry is as it was read
}

// read reads everything but the buckets: the cursor first, so that what is claimed meanwhile is
// behind it or named.
func (q Queue) read(ctx context.Context) (*state, error) {
	if err := q.Session.Sync(ctx, string(q.Root)); err != nil {
		return nil, err
	}
	st := &state{named: make(map[layout.Position]named)}
	data, stat, err := q.get(ctx, q.Root.Cursor())
	if err != nil {
		return nil, err
	}
	st.version = stat.Version
	var ok bool
	if st.cursor, ok = layout.ParseCursor(data); !ok {
		return nil, fmt.Errorf("%s: foreign data", q.Root.Cursor())
	}
	if err := q.readReturned(ctx, st); err != nil {
		return nil, err
	}
	tags, err := q.children(ctx, q.Root.Journals())
	if err != nil {
		return nil, err
	}
	for _, tag := range tags {
		data, stat, err := q.get(ctx, q.Root.Journal(tag))
		if err != nil {
			return nil, err
		}
		j, _ := layout.ParseJournal(data)
		for _, c := range j.Claims {
			if free := c.Without(c.Offered); !j.Fixed && len(free.Runs) > 0 { // whoever asks gets it
				st.back = append(st.back, layout.Returned{Entry: free})
			}
			st.named[c.Position] = named{c.Entry, session.CheckOp(q.Root.Journal(tag), stat.Version)}
		}
	}
	slices.SortFunc(st.back, func(a, b layout.Returned) int { return a.Compare(b.Entry) })
	names, err := q.children(ctx, q.Root.Work())
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if b, ok := place.ParseBucket(name); ok {
			st.buckets = append(st.buckets, b)
		}
	}
	slices.SortFunc(st.buckets, place.Bucket.Compare)
	return st, nil
}

func (q Queue) readReturned(ctx context.Context, st *state) error {
	names, stat, err := q.Session.Children(ctx, q.Root.Returned())
	if err != nil && !errors.Is(err, session.ErrNoNode) {
		return err
	}
	st.moves = stat.Cversion
	for _, name := range names {
		if r, ok := layout.ParseReturned(name); ok {
			st.back = append(st.back, r)
			st.named[r.Position] = named{r.Entry, session.CheckOp(znode.Join(q.Root.Returned(), name), -1)}
		}
	}
	return nil
}

// left are the items of a znode that are not settled.
func (st *state) left(b place.Bucket, z layout.Znode) uint64 {
	e := layout.Whole(b, z)
	if n, ok := st.named[e.Position]; ok {
		return n.entry.Left()
	}
	return e.Left()
}

// behind tells whether a znode was never claimed.
func (st *state) behind(b place.Bucket, z layout.Znode) bool {
	mark := st.cursor.Of(b.Lane)
	return z.Part() == 0 && (b.Number > mark.Number || b.Number == mark.Number && z.Seq > mark.Seq)
}

// get reads a znode; one that does not exist is empty.
func (q Queue) get(ctx context.Context, path string) ([]byte, session.Stat, error) {
	data, stat, err := q.Session.Get(ctx, path)
	if errors.Is(err, session.ErrNoNode) {
		return nil, stat, nil
	}
	return data, stat, err
}

// children lists a znode; one that does not exist has none.
func (q Queue) children(ctx context.Context, path string) ([]string, error) {
	names, _, err := q.Session.Children(ctx, path)
	if errors.Is(err, session.ErrNoNode) {
		return nil, nil
	}
	return names, err
}

// Len counts the items: waiting, being processed, and delayed. It is an estimate while others put
// and take.
func (q Queue) Len(ctx context.Context) (n int, err error) {
	st, err := q.read(ctx)
	if err != nil {
		return 0, err
	}
	marks, err := q.children(ctx, q.Root.Marks())
	if err != nil {
		return 0, err
	}
	st.marks = make(map[string]bool)
	for _, name := range marks {
		st.marks[name] = true
	}
	for _, b := range st.buckets {
		names, err := q.children(ctx, q.Root.Bucket(b))
		if err != nil {
			return 0, err
		}
		for _, name := range names {
			if z, ok := znodeOf(name, b.Lane); ok {
				n += st.count(b, z)
			}
		}
	}
	return n, nil
}

// count is how many items of a znode are neither settled nor removed.
func (st *state) count(b place.Bucket, z layout.Znode) (n int) {
	left, at := st.left(b, z), layout.Whole(b, z).Position
	for i := range z.Count {
		if left&(1<<i) != 0 && !st.marks[layout.MarkName(at, i)] {
			n++
		}
	}
	return n
}
