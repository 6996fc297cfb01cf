// Package browse reads a queue, counts and removes its items, without claiming them. Its calls
// block.
package browse

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/session"
)

// Queue is a queue in ZooKeeper, as a session sees it.
type Queue struct {
	Session *session.Session
	Root    layout.Root
}

// Entry is an item as it was read.
type Entry struct {
	ID string // from the application, or the GUID
	layout.Item
	layout.Record
	Owner   znode.Identity // the process whose consumer has claimed the item, as far as that can be read
	Session int64          // the ZooKeeper session of that consumer
	Token   int64          // of its claim
	Since   time.Time      // the creation of its claim, or of its znode
	Unread  bool           // this session may not read it, or no queue has written its data
	path    string
	version int32
}

// buckets are those of delayed items, or those of all others, in their order.
func (q Queue) buckets(ctx context.Context, later bool, failed *error) []layout.Bucket {
	if later {
		return list(ctx, q, q.Root.Later(), layout.ParseLater, layout.Bucket.Compare, failed)
	}
	return list(ctx, q, q.Root.Items(), layout.ParseBucket, layout.Bucket.Compare, failed)
}

type pass int // over a queue's items

const (
	delayed pass = iota
	others
	andClaims // others, with claims
)

// items are those of each pass, bucket by bucket in their order. It syncs first.
func (q Queue) items(ctx context.Context, passes ...pass) iter.Seq2[layout.Item, error] {
	return func(yield func(layout.Item, error) bool) {
		err := q.Session.Sync(ctx, string(q.Root))
		for _, p := range passes {
			for _, b := range q.buckets(ctx, p == delayed, &err) {
				var claims []string // first: what is acknowledged meanwhile does not look free
				if p == andClaims {
					claims = q.Names(ctx, q.Root.ClaimsOf(b), &err)
				}
				item := func(name string) (layout.Item, bool) { return layout.ParseItem(b, name) }
				for _, i := range list(ctx, q, q.Root.Bucket(b), item, func(a, b layout.Item) int { return cmp.Compare(a.Seq, b.Seq) }, &err) {
					_, i.Claimed = slices.BinarySearch(claims, layout.ClaimName(i.Seq))
					if !yield(i, nil) {
						return
					}
				}
			}
		}
		if err != nil {
			yield(layout.Item{}, err)
		}
	}
}

// list is the list of a znode's children, in order, without those whose names do not parse; a
// missing znode has none. After an error it does nothing.
func list[T any](ctx context.Context, q Queue, path string, parse func(string) (T, bool), compare func(a, b T) int, failed *error) (all []T) {
	if *failed != nil {
		return nil
	}
	names, _, err := q.Session.Children(ctx, path)
	if err != nil && !errors.Is(err, session.ErrNoNode) {
		*failed = err
	}
	for _, name := range names {
		if v, ok := parse(name); ok {
			all = append(all, v)
		}
	}
	slices.SortFunc(all, compare)
	return all
}

// read reads an item; false if it is gone, or no queue has written it.
func (q Queue) read(ctx context.Context, i layout.Item) (e Entry, ok bool, err error) {
	e = Entry{Item: i, path: i.Path(q.Root)}
	data, stat, err := q.Session.Get(ctx, e.path)
	if errors.Is(err, session.ErrNoNode) {
		return e, false, nil
	}
	e.version, e.Since = stat.Version, stat.Ctime
	e.Record, ok = layout.ParseRecord(data)
	e.ID, e.Unread = cmp.Or(e.Record.ID, i.GUID), !ok
	return e, ok && err == nil, err
}

// readClaim reads the claim on an item. One that may not be read is a claim, too.
func (q Queue) readClaim(ctx context.Context, e *Entry) {
	guid, stat, err := q.Session.Get(ctx, q.Root.Claim(e.Bucket, e.Seq))
	if e.Claimed = !errors.Is(err, session.ErrNoNode); err == nil {
		who, _, _ := q.Session.Get(ctx, q.Root.Consumer(string(guid)))
		e.Owner, _ = znode.CutIdentity(who)
		e.Session, e.Token, e.Since = stat.EphemeralOwner, stat.Czxid, stat.Ctime
	}
}

// Names are a znode's children, in order; a missing znode has none.
func (q Queue) Names(ctx context.Context, path string, failed *error) []string {
	return list(ctx, q, path, func(name string) (string, bool) { return name, true }, cmp.Compare, failed)
}

// Counts are what Count counts: see Stats in package queue.
type Counts struct {
	Items, Waiting, Claimed, Delayed int
	Oldest                           time.Time
	Paused                           bool
}

// Count counts the items. It is an estimate while others put and take.
func (q Queue) Count(ctx context.Context) (c Counts, err error) {
	known := make(map[layout.Lane]bool) // since when its first item waits, which is its oldest
	for i, err := range q.items(ctx, delayed, andClaims) {
		lane, since := i.Bucket.Lane, time.Time{}
		if err == nil && !i.Claimed && !lane.Later && !known[lane] {
			e, _, failed := q.read(ctx, i)
			since, err = e.Since, ignoring(session.ErrNoAuth, failed)
			known[lane] = failed != nil || !since.IsZero() // if it has gone, the next is the first
		}
		switch {
		case err != nil:
			return Counts{}, err
		case i.Claimed:
			c.Claimed++
		case !lane.Later:
			c.Waiting++
		default:
			if c.Delayed++; i.Due < time.Now().Add(-time.Second).UnixMilli() {
				since = time.UnixMilli(i.Due)
			}
		}
		if c.Items++; !since.IsZero() && (c.Oldest.IsZero() || since.Before(c.Oldest)) {
			c.Oldest = since
		}
	}
	data, _, err := q.Session.Get(ctx, q.Root.Claims())
	c.Paused = len(data) > 0
	return c, ignoring(session.ErrNoNode, err)
}

// Size counts the items that a capacity limits: all children of the buckets, without listing them.
func (q Queue) Size(ctx context.Context) (n int, err error) {
	err = q.Session.Sync(ctx, string(q.Root))
	for _, b := range append(q.buckets(ctx, true, &err), q.buckets(ctx, false, &err)...) {
		stat, _, failed := q.Session.Exists(ctx, q.Root.Bucket(b))
		n, err = n+int(stat.NumChildren), cmp.Or(err, failed)
	}
	return n, err
}

// List are the first n items, delayed ones last; with free those that can be claimed, or ErrEmpty.
func (q Queue) List(ctx context.Context, n int, free bool) (all []Entry, err error) {
	if n < 1 {
		return nil, fmt.Errorf("n: %d is less than 1", n)
	}
	passes := []pass{andClaims, delayed}
	if free {
		passes, err = passes[:1], layout.ErrEmpty // until one is found
	}
	for i, failed := range q.items(ctx, passes...) {
		if failed != nil {
			return all, failed
		}
		if i.Claimed && free {
			continue
		}
		e, ok, failed := q.read(ctx, i)
		if failed != nil && (free || !errors.Is(failed, session.ErrNoAuth)) {
			return all, failed
		}
		if i.Claimed {
			q.readClaim(ctx, &e)
		}
		if ok || e.Unread && !free {
			all, err = append(all, e), nil
		}
		if len(all) == n {
			break
		}
	}
	return all, err
}

// Find searches for an item by its id: among delayed items, among the others, and among delayed
// ones again, since the item may move meanwhile. First the GUIDs in the znodes' names are compared.
// If none is right and the id has no znode, all items are read: a dead letter has its id in its
// data alone. The error is session.ErrNoNode if there is none, and also session.ErrNoAuth if some
// of the items may not be read.
func (q Queue) Find(ctx context.Context, id string) (e Entry, err error) {
	path, _ := q.Root.ID(id)
	guid, _, err := q.Session.Get(ctx, path)
	named := err == nil // the id's znode has the item's GUID
	if !named {
		guid = []byte(id)
	}
	var hidden error // the last refusal
	for _, byData := range []bool{false, true} {
		if err != nil && !errors.Is(err, session.ErrNoNode) || byData && named {
			break
		}
		for i, err := range q.items(ctx, delayed, others, delayed) {
			if err != nil {
				return e, err
			}
			if !byData && i.GUID != string(guid) {
				continue
			}
			e, ok, err := q.read(ctx, i)
			exists := ok || e.Unread && err == nil
			found := exists && (!byData || e.ID == id)
			if found && !i.Bucket.Lane.Later {
				q.readClaim(ctx, &e)
			}
			if found || err != nil && !(byData && errors.Is(err, session.ErrNoAuth)) {
				return e, err
			}
			hidden = cmp.Or(err, hidden)
		}
	}
	none := fmt.Errorf("id: %w: %q", session.ErrNoNode, id)
	if hidden != nil {
		none = fmt.Errorf("%w, unless it is one that may not be read: %w", none, hidden)
	}
	return Entry{}, cmp.Or(ignoring(session.ErrNoNode, err), none)
}

func ignoring(is, err error) error {
	if errors.Is(err, is) {
		return nil
	}
	return err
}

// Remove deletes the item with this id, whether it waits, is being processed or delayed. The error
// is session.ErrNoNode if there is none.
func (q Queue) Remove(ctx context.Context, id string) error {
	return q.RemoveWith(ctx, id, func(_ Entry, removal []session.Op) error {
		_, err := q.Session.Multi(ctx, removal...)
		return err
	})
}

// RemoveWith deletes an item in a transaction that the caller sends. If the item moves meanwhile,
// or the answer is lost, the item is searched for again.
func (q Queue) RemoveWith(ctx context.Context, id string, transact func(e Entry, removal []session.Op) error) error {
	for lost := ""; ; {
		e, err := q.Find(ctx, id)
		if lost != "" && (errors.Is(err, session.ErrNoNode) || err == nil && e.GUID != lost) {
			return nil
		}
		ops, err := q.removal(ctx, e, err)
		if err != nil {
			return err
		}
		err = transact(e, ops)
		switch {
		case err == nil || ctx.Err() != nil:
			return err
		case errors.Is(err, session.ErrUnknownOutcome):
			lost = e.GUID
		case moved(err):
		default:
			return err
		}
	}
}

// Purge deletes the first n items, but for those that change meanwhile, and counts them.
func (q Queue) Purge(ctx context.Context, n int) (purged int, err error) {
	all, err := q.List(ctx, n, false)
	for _, e := range all {
		ops, failed := q.removal(ctx, e, err)
		if failed == nil {
			_, failed = q.Session.Multi(ctx, ops...)
		}
		if failed == nil {
			purged++
		} else if !moved(failed) {
			return purged, failed
		}
	}
	return purged, err
}

// moved tells whether another client has, or may have, changed the item before.
func moved(err error) bool {
	all := []error{session.ErrBadVersion, session.ErrNoNode, session.ErrNodeExists, session.ErrUnknownOutcome}
	return slices.ContainsFunc(all, func(e error) bool { return errors.Is(err, e) })
}

// removal is the operations that delete an item as it was read, its claim, and the znode of its id.
func (q Queue) removal(ctx context.Context, e Entry, err error) ([]session.Op, error) {
	if err != nil {
		return nil, err
	}
	ops := []session.Op{session.DeleteOp(e.path, e.version)}
	if e.Claimed {
		ops = append(ops, session.DeleteOp(q.Root.Claim(e.Bucket, e.Seq), -1))
	}
	if e.Record.ID == "" {
		return ops, nil
	}
	path, _ := q.Root.ID(e.Record.ID)
	guid, _, err := q.Session.Get(ctx, path)
	if err == nil && string(guid) == e.GUID {
		ops = append(ops, session.DeleteOp(path, -1))
	}
	return ops, ignoring(session.ErrNoNode, err)
}
