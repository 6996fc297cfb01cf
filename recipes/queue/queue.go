package queue

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipes/queue/internal/give"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
	"github.com/troupe-go/troupe/session"
)

// Queue is a queue in ZooKeeper, as one process uses it. It is safe for concurrent use, and needs
// no closing: what it keeps in the background ends a minute after its last use, and with its
// session.
type Queue struct {
	session *session.Session
	path    string
	cfg     options
	site    give.Site
	puts    *producer
	takes   *intake
	turns   atomic.Uint64 // of the shards
}

// New makes a queue on a path. It does no I/O: the path is made when something is put or taken
// first. Errors name the argument that is wrong.
func New(s *session.Session, path string, opts ...Option) (*Queue, error) {
	if s == nil {
		return nil, errors.New("queue.New: s: nil session")
	}
	if err := znode.Validate(path); err != nil {
		return nil, failed("queue.New", path, fmt.Errorf("%w: path: %w", session.ErrInvalidPath, err))
	}
	if path == "/" {
		return nil, failed("queue.New", path, fmt.Errorf("%w: path: the root can't be a queue", session.ErrInvalidPath))
	}
	o, err := optionsOf(path, opts)
	if err != nil {
		return nil, failed("queue.New", path, err)
	}
	q := &Queue{session: s, path: path, cfg: o, site: o.layout.site(path)}
	q.puts = newProducer(q)
	q.takes = newIntake(q, "take")
	q.takes.auto = !o.layout.claims()
	return q, nil
}

// Put puts an item at the end of the line of its priority, and returns its id: the one given with
// WithID, or one that is made. When it returns without an error, the item is in ZooKeeper, and
// comes after every item of its priority whose Put had returned before this one began. Puts of
// several goroutines go together in one transaction.
//
// Errors: ErrFull, ErrDuplicate, session.ErrTooLarge; all say that nothing was put. If ctx ends
// before anything was sent, its cause is returned; if it ends later, session.ErrUnknownOutcome
// comes with it. A lost answer is no error: whether the item was put is looked up. Only when the
// reply was lost and the process could not reach ZooKeeper for more than a minute after, the error
// is session.ErrUnknownOutcome; with WithID, such a Put can be repeated.
func (q *Queue) Put(ctx context.Context, data []byte, opts ...PutOption) (id string, err error) {
	ids, err := q.put(ctx, "put", [][]byte{data}, opts)
	if err != nil {
		return "", err
	}
	return ids[0], nil
}

// PutAll puts several items, in their order, in one transaction: all of them or none. The options
// are for each of them. Otherwise it is as Put.
func (q *Queue) PutAll(ctx context.Context, items [][]byte, opts ...PutOption) ([]string, error) {
	if len(items) == 0 {
		return nil, failed("put all", q.path, errors.New("items: none is given"))
	}
	return q.put(ctx, "put all", items, opts)
}

func (q *Queue) put(ctx context.Context, op string, data [][]byte, opts []PutOption) ([]string, error) {
	o, err := putOptionsOf(q, len(data), opts)
	if err != nil {
		return nil, failed(op, q.path, err)
	}
	shard := 0
	if q.cfg.shards > 1 {
		shard = int(q.turns.Add(1) % uint64(q.cfg.shards))
	}
	items, ids := make([]give.Item, len(data)), make([]string, len(data))
	together := len(data) > 1 && len(data) <= place.MostTogether && o.delay == 0 && !o.ephemeral && q.cfg.layout == Troupe
	family := string(znode.NewGUID())
	for n, d := range data {
		guid := string(znode.NewGUID())
		if together {
			guid = place.Member(family, n+1)
		}
		items[n] = give.Item{
			GUID: guid, Together: together, ID: o.id, Data: append([]byte(nil), d...), Priority: o.priority, Shard: shard,
			Delay: milliseconds(o.delay), Ephemeral: o.ephemeral,
		}
		if ids[n] = o.id; o.id == "" {
			ids[n] = items[n].GUID
		}
	}
	if err := q.puts.put(ctx, items); err != nil {
		return nil, failed(op, q.path, err)
	}
	return ids, nil
}

// root is the queue's path.
func (q *Queue) root() place.Root { return q.site.Root }
