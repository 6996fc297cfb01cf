package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/recipes/queue/internal/look"
	"github.com/troupe-go/troupe/recipes/queue/internal/produce"
	"github.com/troupe-go/troupe/session"
)

// Queue is a handle of a queue in ZooKeeper. It is safe for concurrent use. It ends with its
// session at the latest; Close ends it before.
type Queue struct {
	session *session.Session
	path    string
	cfg     options
	puts    *produce.Producer // of callers, and what WithAutoAck puts back
	back    *produce.Producer // moves what pauses, and what is due: what holds up callers' puts does not hold up these
	dead    *produce.Producer // moves dead letters
	takes   *intake
	life    *recipe.Handle

	mu        sync.Mutex
	closing   bool
	consumers map[*Consumer]struct{}
}

// New returns a handle of the queue at a path, whose options, but for the capacity, bind only this
// handle. It does no I/O: the first put or take creates the path. Errors name the invalid argument.
func New(s *session.Session, path string, opts ...Option) (*Queue, error) {
	if err := recipe.CheckNew("queue.New", s, "path", path); err != nil {
		return nil, err
	}
	if path == "/" {
		return nil, recipe.Failed(s, "queue.New", path, fmt.Errorf("%w: path: the root cannot be a queue", session.ErrInvalidPath))
	}
	o, err := optionsOf(s, path, opts)
	if err != nil {
		return nil, recipe.Failed(s, "queue.New", path, err)
	}
	q := &Queue{session: s, path: path, cfg: o, life: recipe.NewHandle(s, "queue", path), consumers: make(map[*Consumer]struct{})}
	q.puts = produce.New(s, q.root(), o.capacity)
	q.back, q.dead = produce.NewMover(s, q.root()), produce.NewMover(s, layout.Root(o.dead))
	q.puts.ACL, q.back.ACL, q.dead.ACL = o.acl, o.acl, o.acl
	q.takes = newIntake(q, "take")
	return q, nil
}

// Done closes when the handle has ended: by Close, or with its session. Err then says why.
func (q *Queue) Done() <-chan struct{} {
	return q.life.Done()
}

// Err is nil exactly while Done is open. Afterwards it is session.ErrClosed.
func (q *Queue) Err() error {
	return q.life.Err()
}

// Close ends the handle. What waits to be put is put first; waiting calls of Take return
// session.ErrClosed; its consumers end; items that they or Take have handed out and that are not
// settled are lost (session.ErrClosed). It returns when ZooKeeper has confirmed that others can
// have them. If ctx ends first its cause is returned, and the rest is done in the background. The
// items that were put stay. It is idempotent.
func (q *Queue) Close(ctx context.Context) error {
	q.mu.Lock()
	first := !q.closing
	q.closing = true
	consumers := slices.Collect(maps.Keys(q.consumers))
	q.mu.Unlock()
	if !first {
		return recipe.Failed(q.session, "close", q.path, notify.Wait(ctx, q.Done()))
	}
	closes := []func(context.Context) error{q.takes.close}
	for _, c := range consumers {
		closes = append(closes, c.Close)
	}
	errs := make([]error, len(closes)+1)
	var group sync.WaitGroup
	for n, end := range closes {
		group.Go(func() { errs[n] = end(ctx) }) // ends with ctx at the latest
	}
	group.Wait()
	errs[len(closes)] = q.puts.Close(ctx) // it puts what they give back
	q.life.Close()
	return recipe.Failed(q.session, "close", q.path, errors.Join(errs...))
}

// root is the queue's path.
func (q *Queue) root() layout.Root { return layout.Root(q.path) }

// Entry describes an item without claiming it.
type Entry struct {
	ID       string
	Data     []byte
	Priority int
	Attempts int // how often it was claimed; of a dead letter, before it became one too
	Claimed  bool
	Owner    session.Identity // whose the consumer is that has claimed it, as that says itself
	Session  int64            // the ZooKeeper session of that consumer
	Since    time.Time        // when its state began, by the servers' clock

	// Due is the next try of one that is delayed, or pauses. Overdue: by this process's clock that
	// is more than a second ago, and no consumer that has room has made it available.
	Due     time.Time
	Overdue bool

	Dead      bool    // of Find: it is a dead letter
	LastError Failure // zero if none was recorded
	Unread    bool    // this session may not read it, or no queue has written it: the ID is generated, and the rest unknown
}

// Failure is why an item was returned, or has become a dead letter.
type Failure struct {
	Error string           // of WithError, perhaps cut, or that a dead letter came without
	Time  time.Time        // by the clock of the process that recorded it
	By    session.Identity // that process
}

// Peek returns the item that Take would claim now, without claiming it; ErrEmpty if there is none.
// One that this session may not read, and that Take would pass over, is session.ErrNoAuth.
// It syncs first, so it sees everything that was done before the call. It does not see an item
// whose delay or pause is over but that no consumer has made available yet.
func (q *Queue) Peek(ctx context.Context) (e Entry, err error) {
	all, err := q.list(ctx, "peek", 1, true)
	return append(all, e)[0], err
}

// List returns the first n items, without claiming them: those that are delayed or pause are
// behind those that wait or are claimed. It syncs first. What moves between these meanwhile may
// be missing.
func (q *Queue) List(ctx context.Context, n int) ([]Entry, error) {
	return q.list(ctx, "list", n, false)
}

func (q *Queue) list(ctx context.Context, op string, n int, free bool) (all []Entry, err error) {
	err = q.reading(op, func(at look.Queue) error {
		items, err := at.List(ctx, n, free)
		for _, i := range items {
			all = append(all, entryOf(i))
		}
		return err
	})
	return all, err
}

// latest is the last day that JSON has: somebody else may have written a later one.
const latest = 253_402_214_400_000

func entryOf(i look.Entry) Entry {
	e := Entry{
		ID: i.ID, Data: i.Body, Priority: i.Priority, Attempts: i.Attempts + i.Tried, Claimed: i.Claimed, Unread: i.Unread,
		Owner: i.Owner, Session: i.Session, Since: i.Since,
	}
	if f := layout.ParseFailure(i.Failure); f.Time > 0 {
		e.LastError = Failure{f.Error, time.UnixMilli(min(f.Time, latest)), f.By}
	}
	if i.Due > 0 {
		e.Due = time.UnixMilli(min(i.Due, latest))
		e.Overdue = time.Since(e.Due) > time.Second
	}
	return e
}

// ConsumerInfo describes a consumer of a queue, of this process or of any other.
type ConsumerInfo struct {
	ID       string           // of its znode: another one in each session
	Owner    session.Identity // whose it is, as it says itself, if it does
	Session  int64            // its ZooKeeper session
	Since    time.Time        // it has been there since then, by the servers' clock
	InHand   int              // items that it has claimed
	Prefetch int              // how many it may have; 0 for calls of Take, and if it did not tell
}

// Consumers lists the consumers that live, as is each handle that has called Take. It syncs first,
// and reads each claim: those that come or go meanwhile may be counted, or not.
func (q *Queue) Consumers(ctx context.Context) (all []ConsumerInfo, err error) {
	err = q.reading("consumers", func(at look.Queue) error {
		err, held := q.session.Sync(ctx, q.path), make(map[string]int)
		for _, bucket := range at.Names(ctx, at.Root.Claims(), &err) {
			claims := znode.Join(at.Root.Claims(), bucket)
			for _, name := range at.Names(ctx, claims, &err) {
				guid, _, _ := q.session.Get(ctx, znode.Join(claims, name)) // what is gone is nobody's
				held[string(guid)]++
			}
		}
		for _, id := range at.Names(ctx, at.Root.Consumers(), &err) {
			data, stat, failed := q.session.Get(ctx, at.Root.Consumer(id))
			c := ConsumerInfo{ID: id, Session: stat.EphemeralOwner, Since: stat.Ctime, InHand: held[id]}
			c.Owner, data = znode.CutIdentity(data)
			_, _ = fmt.Sscanf(string(data), "prefetch %d", &c.Prefetch)
			if !errors.Is(failed, session.ErrNoNode) {
				all = append(all, c)
			}
		}
		return cmp.Or(err, context.Cause(ctx))
	})
	return all, err
}

// failure is what is written of an error, now and by this process.
func (q *Queue) failure(text string) json.RawMessage {
	return layout.Failure{Error: text, Time: time.Now().UnixMilli(), By: recipe.Identity(q.session)}.Encode()
}

// Find is the item with this id, or the dead letter. It searches as Remove does; if there is none
// the error is session.ErrNoNode, and session.ErrNoAuth too if it may be a dead letter that this
// session may not read.
func (q *Queue) Find(ctx context.Context, id string) (e Entry, err error) {
	err = q.reading("find", func(at look.Queue) error {
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

// Len counts the items: waiting, being processed, and delayed. It syncs first, so it sees
// everything that was done before the call. It lists every bucket, one listing for some hundred
// items, and is only an estimate while others put and take.
func (q *Queue) Len(ctx context.Context) (n int, err error) {
	err = q.reading("len", func(at look.Queue) error {
		n, err = at.Len(ctx)
		return err
	})
	return n, err
}

// Remove deletes the item with this id, whether it is waiting, being processed or delayed, or among
// the dead letters. Its consumer, if any, learns of it from Ack or Nack (session.ErrLost). If there
// is no such item the error is session.ErrNoNode. It searches the queue as it was when the call
// began, or later, which costs as much as Len; if the id is not found so, it reads the items, as
// dead letters have it in their data alone. An item that begins a pause and ends it while Remove
// searches may be missed.
func (q *Queue) Remove(ctx context.Context, id string) error {
	return q.reading("remove", func(at look.Queue) error {
		if id == "" {
			return errors.New("id: empty")
		}
		err := at.Remove(ctx, id)
		if errors.Is(err, session.ErrNoNode) {
			at.Root = layout.Root(q.cfg.dead)
			err = at.Remove(ctx, id)
		}
		return err
	})
}

// Purge removes the first n items of List, and counts them. What changes meanwhile may stay.
func (q *Queue) Purge(ctx context.Context, n int) (purged int, err error) {
	err = q.reading("purge", func(at look.Queue) error {
		purged, err = at.Purge(ctx, n)
		return err
	})
	return purged, err
}

// Requeue moves dead letters of this queue back into it: to the end of their priorities, with ids
// and headers, and as if nobody had received them. Each is a Put that deletes the dead letter in
// its transaction, in the order of ids; at the first error it stops. That is session.ErrNoNode if
// there is no such dead letter, or what Put returns. It searches as Remove does.
func (q *Queue) Requeue(ctx context.Context, ids ...string) error {
	return q.reading("requeue", func(look.Queue) error {
		for _, id := range ids {
			if id == "" {
				return errors.New("ids: an empty one")
			}
			dead := look.Queue{Session: q.session, Root: layout.Root(q.cfg.dead)}
			err := dead.RemoveWith(ctx, id, func(e look.Entry, removal []session.Op) error {
				if e.Unread {
					return fmt.Errorf("ids: %w: %q, which no queue has written", session.ErrUnsupported, id)
				}
				e.Record.Attempts, e.Record.Tried, e.Record.Failure = 0, 0, nil
				_, err := q.puts.Begin(produce.Put{GUIDs: []string{e.GUID}, Items: []layout.Record{e.Record}, With: removal}).Wait(ctx)
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// reading reads the queue, unless the handle is closed.
func (q *Queue) reading(op string, f func(look.Queue) error) error {
	q.mu.Lock()
	closing := q.closing
	q.mu.Unlock()
	if closing {
		return recipe.Failed(q.session, op, q.path, session.ErrClosed)
	}
	return recipe.Failed(q.session, op, q.path, f(look.Queue{Session: q.session, Root: q.root()}))
}
