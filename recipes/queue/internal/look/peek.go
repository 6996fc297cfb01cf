package look

import (
	"context"
	"slices"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
)

// Entry describes an item without claiming it.
type Entry struct {
	ID       string
	Record   layout.Record
	Priority int
	Attempts int // how often it was received
}

// Peek is the item that would be claimed next; [ErrEmpty] if there is none. An item that waits for
// its pause to end counts as delayed.
func (q Queue) Peek(ctx context.Context) (Entry, error) {
	st, err := q.read(ctx)
	if err != nil {
		return Entry{}, err
	}
	var lanes []place.Lane
	for _, b := range st.buckets {
		if !b.Lane.Later && !slices.Contains(lanes, b.Lane) {
			lanes = append(lanes, b.Lane)
		}
	}
	for _, lane := range lanes {
		for _, r := range st.back {
			if r.Bucket.Lane != lane || r.Due > 0 {
				continue
			}
			names, err := q.children(ctx, q.Root.Bucket(r.Bucket))
			if err != nil {
				return Entry{}, err
			}
			if z, ok := r.Find(names); ok {
				if e, ok, err := q.first(ctx, r.Entry, z); ok || err != nil {
					return e, err
				}
			}
		}
		for _, b := range st.buckets {
			if b.Lane != lane {
				continue
			}
			names, err := q.children(ctx, q.Root.Bucket(b))
			if err != nil {
				return Entry{}, err
			}
			for _, z := range znodesIn(names) {
				if !st.behind(b, z) {
					continue
				}
				if e, ok, err := q.first(ctx, layout.Whole(b, z), z); ok || err != nil {
					return e, err
				}
			}
		}
	}
	return Entry{}, ErrEmpty
}

// first is the first item of a znode that is there; false if somebody was faster.
func (q Queue) first(ctx context.Context, e layout.Entry, z layout.Znode) (Entry, bool, error) {
	data, _, err := q.get(ctx, znode.Join(q.Root.Bucket(e.Bucket), z.Name()))
	if err != nil {
		return Entry{}, false, err
	}
	records, ok := layout.Unpack(data, z.Count)
	if !ok {
		return Entry{}, false, nil
	}
	for n, r := range records {
		if e.Left()&(1<<n) == 0 || r.Removed {
			continue
		}
		found := Entry{ID: r.ID, Record: r, Priority: e.Bucket.Lane.Priority, Attempts: e.Attempts(n)}
		if found.ID == "" {
			found.ID = z.Item(n)
		}
		return found, true, nil
	}
	return Entry{}, false, nil
}

// znodesIn are the znodes in a listing, in order.
func znodesIn(names []string) (all []layout.Znode) {
	for _, name := range names {
		if z, ok := layout.ParseZnode(name); ok {
			all = append(all, z)
		}
	}
	slices.SortFunc(all, layout.Znode.Compare)
	return all
}
