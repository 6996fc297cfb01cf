package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/queue/internal/browse"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/recipes/queue/internal/produce"
	"github.com/troupe-go/troupe/session"
)

// Entry describes an item without claiming it.
type Entry struct {
	ID        string
	Data      []byte
	Priority  int
	Attempts  int               // how often the item was claimed, also before it became a dead letter
	Headers   map[string]string // of WithHeader; nil without
	Claimed   bool
	Owner     session.Identity // the process whose consumer has claimed the item, as that process says
	SessionID int64            // the ZooKeeper session of that consumer
	Token     int64            // of the claim: see Item.Token
	Since     time.Time        // the beginning of its state, by the servers' clock

	// Due is the next try of one that is delayed, or pauses. Overdue: by this process's clock that
	// is more than a second ago, and no consumer that has room has made it available.
	Due     time.Time
	Overdue bool

	Dead      bool    // of Find: it is a dead letter
	LastError Failure // zero if none was recorded
	Unread    bool    // the ACL forbids this session to read it, or no queue has written it: the ID is generated, the rest unknown
}

// Failure is why an item was returned, or has become a dead letter.
type Failure struct {
	Error string           // of WithError, perhaps cut, or that a dead letter came without
	Time  time.Time        // by the clock of the process that recorded it
	By    session.Identity // that process
}

// Peek returns the item that Take would claim now, without claiming it; ErrEmpty if there is none.
// If the ACL forbids this session to read that item, which Take would pass over, the error is
// session.ErrNoAuth. It syncs first, so it sees everything that was done before the call. It does
// not see an item whose delay or pause is over but that no consumer has made available yet.
func (q *Queue) Peek(ctx context.Context) (e Entry, err error) {
	all, err := q.list(ctx, "peek", 1, true)
	return append(all, e)[0], err
}

// List returns the first n items, without claiming them: those that are delayed or pause are behind
// those that wait or are claimed. It syncs first. An item that moves between these meanwhile may be
// missing.
func (q *Queue) List(ctx context.Context, n int) ([]Entry, error) {
	return q.list(ctx, "list", n, false)
}

func (q *Queue) list(ctx context.Context, op string, n int, free bool) (all []Entry, err error) {
	err = q.reading(op, func(at browse.Queue) error {
		items, err := at.List(ctx, n, free)
		for _, i := range items {
			all = append(all, entryOf(i))
		}
		return err
	})
	return all, err
}

// latest is the last day that JSON has: another client may have written a later one.
const latest = 253_402_214_400_000

func entryOf(i browse.Entry) Entry {
	e := Entry{
		ID: i.ID, Data: i.Body, Priority: i.Priority, Attempts: i.Attempts + i.Tried, Claimed: i.Claimed, Unread: i.Unread,
		Owner: session.Identity(i.Owner), SessionID: i.Session, Token: i.Token, Since: i.Since,
	}
	for n := 0; n+1 < len(i.Headers); n += 2 {
		if e.Headers == nil {
			e.Headers = make(map[string]string)
		}
		e.Headers[i.Headers[n]] = i.Headers[n+1]
	}
	if f := layout.ParseFailure(i.Failure); f.Time > 0 {
		e.LastError = Failure{f.Error, time.UnixMilli(min(f.Time, latest)), session.Identity(f.By)}
	}
	if i.Due > 0 {
		e.Due = time.UnixMilli(min(i.Due, latest))
		e.Overdue = time.Since(e.Due) > time.Second
	}
	return e
}

// ConsumerInfo describes a consumer of a queue, in any process.
type ConsumerInfo struct {
	ID        string           // of its znode: another one in each session
	Owner     session.Identity // its process, if the consumer says so
	SessionID int64            // its ZooKeeper session
	Since     time.Time        // it has been there since then, by the servers' clock
	InHand    int              // items that it has claimed
	Prefetch  int              // how many it may have; 0 for calls of Take, and if the consumer does not say
}

// Consumers lists the consumers that live; a handle that has called Take is one. It syncs first,
// and reads each claim: those that come or go meanwhile may be counted, or not.
func (q *Queue) Consumers(ctx context.Context) (all []ConsumerInfo, err error) {
	err = q.reading("consumers", func(at browse.Queue) error {
		err, held := q.session.Sync(ctx, q.path), make(map[string]int)
		for _, bucket := range at.Names(ctx, at.Root.Claims(), &err) {
			claims := znode.Join(at.Root.Claims(), bucket)
			for _, name := range at.Names(ctx, claims, &err) {
				guid, _, _ := q.session.Get(ctx, znode.Join(claims, name)) // a claim that is gone counts for no consumer
				held[string(guid)]++
			}
		}
		for _, id := range at.Names(ctx, at.Root.Consumers(), &err) {
			data, stat, failed := q.session.Get(ctx, at.Root.Consumer(id))
			c := ConsumerInfo{ID: id, SessionID: stat.EphemeralOwner, Since: stat.Ctime, InHand: held[id]}
			owner, data := znode.CutIdentity(data)
			c.Owner = session.Identity(owner)
			_, _ = fmt.Sscanf(string(data), "prefetch %d", &c.Prefetch)
			if !errors.Is(failed, session.ErrNoNode) {
				all = append(all, c)
			}
		}
		return cmp.Or(err, context.Cause(ctx))
	})
	return all, err
}

// failure is an error as it is recorded in an item, now and by this process.
func (q *Queue) failure(text string) json.RawMessage {
	return layout.Failure{Error: text, Time: time.Now().UnixMilli(), By: znode.Identity(recipe.Identity(q.session))}.Encode()
}

// Find returns the item with this id, or the dead letter, without claiming it. It searches as
// Remove does. Errors: session.ErrNoNode if there is none, together with session.ErrNoAuth if it
// may be a dead letter that the ACL forbids this session to read.
func (q *Queue) Find(ctx context.Context, id string) (e Entry, err error) {
	err = q.reading("find", func(at browse.Queue) error {
		found, err := at.Find(ctx, id)
		if errors.Is(err, session.ErrNoNode) {
			at.Root = layout.Root(q.cfg.dead)
			found, err = at.Find(ctx, id)
		}
		e = entryOf(found)
		e.Dead = err == nil && at.Root != q.root()
		return err
	})
	return e, err
}

// Stats counts a queue's items. With Paused and no Claimed, nothing is at work, unless a consumer
// has WithAutoAck, whose items are not counted; or a function goes on though its claim was lost; or
// a process has a version without Pause.
type Stats struct {
	Items   int // all: waiting, claimed, delayed
	Waiting int // those that a consumer could claim
	Claimed int // those that a consumer has, received or not
	Delayed int // those whose delay or pause is not over, or that no consumer has made available yet
	// Oldest is since when the oldest item waits, by the servers' clock: since it was put, or since
	// its delay or pause was over, claimed meanwhile or not. Zero if none waits that can be read.
	Oldest time.Time
	Paused bool // by Pause
}

// Stats counts the items by reading: it syncs, so it sees everything that was done before the call,
// and lists every bucket, one reply of about 30 kB for up to 500 items, and its claims. A hundred
// thousand items cost some 400 requests, one after the other, and each priority one more. While
// others put and take, it is an estimate.
func (q *Queue) Stats(ctx context.Context) (all Stats, err error) {
	err = q.reading("stats", func(at browse.Queue) error {
		c, err := at.Count(ctx)
		all = Stats(c)
		return err
	})
	return all, err
}

// Remove deletes the items with these ids, at least one, one after the other: waiting, being
// processed, delayed, or dead letters. At the first error it stops; that is session.ErrNoNode if
// there is no such item. The item's consumer, if any, learns of it from Ack or Nack
// (session.ErrLost). For each id it searches the queue as it was when the call began, or later,
// which costs as much as Stats; if the id is not found so, it reads the items, as dead letters have
// it in their data alone. An item that begins a pause and ends it meanwhile may be missed.
func (q *Queue) Remove(ctx context.Context, ids ...string) error {
	return q.each("remove", ids, func(id string) error {
		at := browse.Queue{Session: q.session, Root: q.root()}
		err := at.Remove(ctx, id)
		if errors.Is(err, session.ErrNoNode) {
			at.Root = layout.Root(q.cfg.dead)
			err = at.Remove(ctx, id)
		}
		return err
	})
}

// Purge deletes the first n items of List, claimed ones too, and returns how many it has deleted.
// Items that change meanwhile may stay.
func (q *Queue) Purge(ctx context.Context, n int) (purged int, err error) {
	err = q.reading("purge", func(at browse.Queue) error {
		purged, err = at.Purge(ctx, n)
		return err
	})
	return purged, err
}

// Requeue moves the dead letters with these ids, at least one, back into the queue: to the end of
// their priorities, with ids and headers, and as if they had never been received. Each is a Put
// that deletes the dead letter in its transaction, in the order of ids. At the first error it
// stops; that is session.ErrNoNode if there is no such dead letter, or what Put returns. It
// searches as Remove does.
func (q *Queue) Requeue(ctx context.Context, ids ...string) error {
	dead := browse.Queue{Session: q.session, Root: layout.Root(q.cfg.dead)}
	return q.each("requeue", ids, func(id string) error {
		return dead.RemoveWith(ctx, id, func(e browse.Entry, removal []session.Op) error {
			if e.Unread {
				return fmt.Errorf("ids: %w: %q, which no queue has written", session.ErrUnsupported, id)
			}
			e.Record.Attempts, e.Record.Tried, e.Record.Failure = 0, 0, nil
			_, err := q.puts.Begin(produce.Put{GUIDs: []string{e.GUID}, Items: []layout.Record{e.Record}, With: removal}).Wait(ctx)
			return err
		})
	})
}

// each does something with each of several ids, until there is an error.
func (q *Queue) each(op string, ids []string, f func(id string) error) error {
	return q.reading(op, func(browse.Queue) (err error) {
		if len(ids) == 0 || slices.Contains(ids, "") {
			err = fmt.Errorf("ids: none, or an empty one: %q", ids)
		}
		for n := 0; n < len(ids) && err == nil; n++ {
			err = f(ids[n])
		}
		return err
	})
}

// reading reads the queue, unless the handle is closed.
func (q *Queue) reading(op string, f func(browse.Queue) error) error {
	q.mu.Lock()
	closing := q.closing
	q.mu.Unlock()
	if closing {
		return recipe.Failed(q.session, op, q.path, session.ErrClosed)
	}
	return recipe.Failed(q.session, op, q.path, f(browse.Queue{Session: q.session, Root: q.root()}))
}
