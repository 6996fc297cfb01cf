package queue

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
	"github.com/troupe-go/troupe/recipes/queue/internal/room"
	"github.com/troupe-go/troupe/session"
)

// Entry describes an item without claiming it.
type Entry struct {
	ID       string
	Data     []byte
	Priority int
	Attempts int // number of claims so far
}

// looked is an item at its path, or a pack of items.
type looked struct {
	place.Item
	at      string // its path
	id      string
	pack    *place.Pack // nil: it is an item
	claim   string      // in another layout, the path of the claim on it
	claimed bool
}

// len is the number of items.
func (l *looked) len() int {
	if l.pack != nil {
		return l.pack.Len()
	}
	return 1
}

// Peek returns the item that Take would claim now, without claiming it; ErrEmpty if there is none.
// It syncs first, so it sees everything that was done before the call. It does not see a delayed
// item that is due but not yet made available by a consumer.
func (q *Queue) Peek(ctx context.Context) (Entry, error) {
	e, err := q.peek(ctx)
	return e, failed("peek", q.path, err)
}

func (q *Queue) peek(ctx context.Context) (Entry, error) {
	buckets, err := q.lookAt(ctx)
	if err != nil {
		return Entry{}, err
	}
	for _, b := range buckets {
		if b.Lane.Later {
			break
		}
		items, err := q.itemsIn(ctx, b)
		if err != nil {
			return Entry{}, err
		}
		for _, i := range items {
			if i.claimed {
				continue
			}
			e, err := q.read(ctx, i)
			if !errors.Is(err, session.ErrNoNode) { // otherwise another client was faster
				return e, err
			}
		}
	}
	return Entry{}, ErrEmpty
}

// read reads an item, or the first of a pack.
func (q *Queue) read(ctx context.Context, i looked) (Entry, error) {
	data, stat, err := q.session.Get(ctx, i.at)
	if err != nil {
		return Entry{}, err
	}
	e := Entry{ID: i.id, Data: data, Priority: i.Priority, Attempts: int(stat.Version)}
	if i.pack != nil {
		all, ok := place.Unwrap(data)
		if !ok || len(all) != i.pack.Len() {
			return Entry{}, fmt.Errorf("%w: foreign data in %s", session.ErrNoNode, i.at)
		}
		e.Data, e.Attempts = all[0], i.pack.Tries
	}
	return e, nil
}

// Len counts the items: waiting, being processed, and delayed. It syncs first, so it sees
// everything that was done before the call. It lists every bucket, one listing for some hundred
// items, and is only an estimate while others put and take.
func (q *Queue) Len(ctx context.Context) (int, error) {
	n, err := q.count(ctx)
	return n, failed("len", q.path, err)
}

func (q *Queue) count(ctx context.Context) (int, error) {
	n := 0
	err := q.each(ctx, func(items []looked) {
		for _, i := range items {
			n += i.len()
		}
	})
	return n, err
}

// Remove deletes the item with this id, whether it is waiting, being processed or delayed. Its
// consumer, if any, learns of it from Ack or Nack (session.ErrLost). If there is no such item the
// error is session.ErrNoNode. It syncs first, so it sees everything that was done before the call.
// It searches for the item, which costs as much as Len.
func (q *Queue) Remove(ctx context.Context, id string) error {
	return failed("remove", q.path, q.remove(ctx, id))
}

func (q *Queue) remove(ctx context.Context, id string) error {
	if id == "" {
		return errors.New("id: empty")
	}
	var doubt *looked // the reply to its removal was lost
	for {
		var found *looked
		err := q.each(ctx, func(items []looked) {
			for _, i := range items {
				if i.is(id) {
					found = &i
				}
			}
		})
		if err != nil {
			return err
		}
		if doubt != nil && (found == nil || found.pack == nil && found.GUID != doubt.GUID) {
			return nil // it is gone; an item with its id was put since
		}
		if found == nil {
			return fmt.Errorf("id: %w: %q", session.ErrNoNode, id)
		}
		switch err := q.delete(ctx, found, id); {
		case err == nil:
			return nil
		case errors.Is(err, session.ErrUnknownOutcome) && ctx.Err() == nil:
			doubt = found // that its znode is gone would prove nothing: every claim of a part of a pack deletes it
		case errors.Is(err, session.ErrNoNode), errors.Is(err, session.ErrBadVersion):
			// Another client has claimed or acknowledged it meanwhile: look again.
		default:
			return err
		}
	}
}

// is tells whether it is the item with an id, or has it.
func (l *looked) is(id string) bool {
	if l.pack == nil {
		return l.id == id
	}
	_, ok := l.pack.Has(id)
	return ok
}

// delete deletes an item and the znodes that belong to it.
func (q *Queue) delete(ctx context.Context, i *looked, id string) error {
	ops := []session.Op{session.DeleteOp(i.at, -1)}
	if i.pack != nil {
		rest, err := q.without(ctx, i, id)
		if err != nil {
			return err
		}
		ops = append(ops, rest...)
	}
	if i.claim != "" {
		ops = append(ops, session.DeleteOp(i.claim, -1))
	}
	if i.ID != "" {
		index := q.root().ID(i.ID)
		guid, _, err := q.session.Get(ctx, index)
		switch {
		case err == nil && bytes.Equal(guid, []byte(i.GUID)):
			ops = append(ops, session.DeleteOp(index, -1))
		case err != nil && !errors.Is(err, session.ErrNoNode):
			return err
		}
	}
	if q.cfg.layout == Troupe {
		back := room.New(q.root(), home(q.puts.guid))
		part, _ := back.Home()
		data, stat, err := q.session.Get(ctx, q.root().Stripe(part))
		switch {
		case err == nil:
			back.Saw(part, data, stat.Version)
			use := back.Give(1)
			ops = append(ops, session.SetOp(use.Op.Path, use.Op.Data, use.Op.Version))
		case !errors.Is(err, session.ErrNoNode):
			return err
		}
	}
	_, err := q.session.Multi(ctx, ops...)
	return err
}

// without are the operations that replace a pack by the items before one of its items, and those
// after it.
func (q *Queue) without(ctx context.Context, i *looked, id string) ([]session.Op, error) {
	data, _, err := q.session.Get(ctx, i.at)
	if err != nil {
		return nil, err
	}
	all, ok := place.Unwrap(data)
	if !ok || len(all) != i.pack.Len() {
		return nil, fmt.Errorf("foreign data in %s", i.at)
	}
	part, _ := i.pack.Has(id)
	bucket, _ := znode.Split(i.at)
	var ops []session.Op
	for _, p := range []place.Pack{i.pack.Part(i.pack.First, part-1), i.pack.Part(part+1, i.pack.Last)} {
		if p.Len() > 0 {
			ops = append(ops, session.CreateOp(znode.Join(bucket, p.Name()), place.Wrap(all[p.First-i.pack.First:p.Last-i.pack.First+1])))
		}
	}
	return ops, nil
}

// lookAt lists the buckets, in order, after a sync. A layout without buckets has one.
func (q *Queue) lookAt(ctx context.Context) ([]place.Bucket, error) {
	if err := q.session.Sync(ctx, q.path); err != nil {
		return nil, err
	}
	if q.cfg.layout != Troupe {
		return []place.Bucket{{}}, nil
	}
	names, _, err := q.session.Children(ctx, q.path)
	if err != nil && !errors.Is(err, session.ErrNoNode) {
		return nil, err
	}
	var buckets []place.Bucket
	for _, name := range names {
		if b, ok := place.ParseBucket(name); ok {
			buckets = append(buckets, b)
		}
	}
	slices.SortFunc(buckets, place.Bucket.Compare)
	return buckets, nil
}

// atATime is the number of concurrent listings.
const atATime = 16

// each lists every bucket.
func (q *Queue) each(ctx context.Context, f func(items []looked)) error {
	buckets, err := q.lookAt(ctx)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	var group sync.WaitGroup
	at := 0
	for range min(atATime, len(buckets)) {
		group.Go(func() { // ends with the buckets, or with an error; each waits for it
			for {
				mu.Lock()
				n := at
				at++
				over := n >= len(buckets) || err != nil
				mu.Unlock()
				if over {
					return
				}
				items, failure := q.itemsIn(ctx, buckets[n])
				mu.Lock()
				if failure != nil {
					err = failure
				} else {
					f(items)
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return err
}

// itemsIn lists a bucket's items, in order. A bucket that is gone has none.
func (q *Queue) itemsIn(ctx context.Context, b place.Bucket) ([]looked, error) {
	if q.cfg.layout != Troupe {
		return q.itemsInFlat(ctx)
	}
	path := q.root().Bucket(b)
	names, err := q.children(ctx, path)
	if err != nil {
		return nil, err
	}
	claims := place.ClaimsIn(names)
	var items []looked
	for _, name := range names {
		l := looked{at: znode.Join(path, name)}
		if p, ok := place.ParsePack(name, b.Lane); ok {
			l.pack, l.Item = &p, p.Item(p.First)
		} else if l.Item, ok = place.ParseItem(name, b.Lane); !ok {
			continue
		}
		l.id, l.claimed = l.Known(), claims.On(l.Place)
		items = append(items, l)
	}
	slices.SortFunc(items, func(a, b looked) int { return a.Place.Compare(b.Place) })
	return items, nil
}

func (q *Queue) itemsInFlat(ctx context.Context) ([]looked, error) {
	names, err := q.children(ctx, q.site.Flat)
	if err != nil {
		return nil, err
	}
	var taken []string
	if dir := q.cfg.layout.taken(q.path); dir != "" {
		if taken, err = q.children(ctx, dir); err != nil {
			return nil, err
		}
	}
	var items []looked
	for _, name := range names {
		i, ok := q.cfg.layout.parse(name)
		if !ok {
			continue
		}
		l := looked{Item: i, at: znode.Join(q.site.Flat, name), id: name}
		if slices.Contains(taken, name) {
			l.claimed, l.claim = true, znode.Join(q.cfg.layout.taken(q.path), name)
		}
		items = append(items, l)
	}
	slices.SortFunc(items, func(a, b looked) int {
		if a.Priority != b.Priority {
			return a.Priority - b.Priority
		}
		return znode.CompareSeq(a.Seq, b.Seq)
	})
	return items, nil
}

// children lists a znode; one that does not exist has none.
func (q *Queue) children(ctx context.Context, path string) ([]string, error) {
	names, _, err := q.session.Children(ctx, path)
	if errors.Is(err, session.ErrNoNode) {
		return nil, nil
	}
	return names, err
}
