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

// Queue is a handle of a queue in ZooKeeper. It is safe for concurrent use, and needs no closing:
// its background work ends one minute after its last use, and with its session.
type Queue struct {
	session *session.Session
	path    string
	cfg     options
	site    give.Site
	puts    *producer
	takes   *intake
	turns   atomic.Uint64 // of the shards
}

// New returns a handle of the queue at a path. It does no I/O: the path is created when the first
// item is put or taken. Errors name the invalid argument.
func New(s *session.Session, path string, opts ...Option) (*Queue, error) {
	if s == nil {
		return nil, errors.New("queue.New: s: nil session")
	}
	if err := znode.Validate(path); err != nil {
		return nil, failed("queue.New", path, fmt.Errorf("%w: path: %w", session.ErrInvalidPath, err))
	}
	if path == "/" {
		return nil, failed("queue.New", path, fmt.Errorf("%w: path: the root cannot be a queue", session.ErrInvalidPath))
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

// Put adds an item at the end of its priority, and returns its id: the one given with WithID, or a
// generated one. When it returns without an error, the item is in ZooKeeper, behind every item of
// its priority whose Put had returned before this one began. Concurrent puts share a transaction.
//
// Errors: ErrFull, ErrDuplicate and session.ErrTooLarge mean that nothing was put. If ctx ends
// before anything was sent, its cause is returned; if it ends later, session.ErrUnknownOutcome
// comes with it. A lost reply is not an error: Put reads whether the item was put. Only if the
// process could not reach ZooKeeper for more than a minute after the reply was lost, the error is
// session.ErrUnknownOutcome; with WithID, such a Put can be repeated.
func (q *Queue) Put(ctx context.Context, data []byte, opts ...PutOption) (id string, err error) {
	ids, err := q.put(ctx, "put", [][]byte{data}, opts)
	if err != nil {
		return "", err
	}
	return ids[0], nil
}

// PutAll adds several items, in their order, in one transaction: all of them or none. The options
// apply to each of them. Otherwise it is like Put.
func (q *Queue) PutAll(ctx context.Context, items [][]byte, opts ...PutOption) ([]string, error) {
	if len(items) == 0 {
		return nil, failed("put all", q.path, errors.New("items: none given"))
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
