package lock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipes/internal/contend"
	"github.com/troupe-go/troupe/recipes/internal/contenders"
	"github.com/troupe-go/troupe/recipes/internal/observe"
	"github.com/troupe-go/troupe/session"
)

// NewSemaphore creates a counting semaphore: limit is how many permits it has in all. An instance
// acquires one permit, or as many as [WithWeight] says, all at once or none. The order is strict: a
// contender that wants more permits than are free blocks all contenders behind it, so that large
// requests are not starved by small ones.
//
// The limit is stored in ZooKeeper, as the data of path, a persistent znode. The first instance
// that requests a permit writes its limit there. Every other instance compares: a different limit
// is [ErrLimit], from the call that requests the permit, or as the Err of an instance with a
// standing intent. An instance whose limit once matched follows the changes of [Lock.SetLimit]. If
// the limit becomes less than an instance's weight, it gets ErrLimit when it would be granted next.
//
// An instance serves its callers one after the other, like every [Lock]. To hold several permits at
// the same time, create several instances, or one with a weight. Otherwise it behaves like a lock
// of [New]. limit and weight are at least 1, and weight is at most limit.
func NewSemaphore(s *session.Session, path string, limit int, opts ...Option) (*Lock, error) {
	const op = "lock.NewSemaphore"
	if limit < 1 {
		return nil, failed(s, op, path, fmt.Errorf("limit: %d is less than 1", limit))
	}
	return build(op, s, path, kind{of: znode.Lease, rule: contend.AtMost(limit), permits: limit}, opts)
}

// WithWeight makes an instance of a semaphore acquire n permits at once. Other locks have no
// weight, and refuse it.
func WithWeight(n int) Option {
	return func(o *options) error {
		if n < 1 {
			return fmt.Errorf("WithWeight: n: %d is less than 1", n)
		}
		o.weight = n
		return nil
	}
}

// SetLimit changes the limit of a semaphore to n permits, for all its users, and sets it if there
// was none. If the limit is raised, the contenders that now fit are granted. If it is lowered,
// holders keep their permits, and waiters are granted when enough permits have been released. It
// returns when ZooKeeper has the limit. From the call on, this instance follows the limit in
// ZooKeeper and does not compare it with the one that it was created with. Errors: n less than
// 1; [ErrLimit] if the path's data are not a limit; session.ErrUnsupported for a lock that is no
// semaphore.
func (l *Lock) SetLimit(ctx context.Context, n int) error {
	var err error
	switch {
	case l.kind.permits == 0:
		err = fmt.Errorf("%w: only a semaphore has a limit", session.ErrUnsupported)
	case n < 1:
		err = fmt.Errorf("n: %d is less than 1", n)
	default:
		l.follows.Store(true) // before the machine can see the new one
		err = l.setLimit(znode.Making(ctx, l.acl), strconv.AppendInt(nil, int64(n), 10))
	}
	return failed(l.session, "set limit", l.path, err)
}

func (l *Lock) setLimit(ctx context.Context, limit []byte) error {
	for {
		data, stat, err := l.session.Get(ctx, l.path)
		switch {
		case errors.Is(err, session.ErrNoNode):
			_, err = l.session.Create(ctx, l.path, limit, session.Parents())
		case err != nil:
		case !contend.IsLimit(data):
			err = fmt.Errorf("%w: the znode's data are not a number of permits", ErrLimit)
		case string(data) != string(limit):
			_, err = l.session.Set(ctx, l.path, limit, stat.Version)
		}
		again := errors.Is(err, session.ErrBadVersion) || errors.Is(err, session.ErrNoNode) || errors.Is(err, session.ErrNodeExists) ||
			errors.Is(err, session.ErrUnknownOutcome)
		if !again || ctx.Err() != nil {
			return err
		}
	}
}

// marks follows which contenders of a semaphore hold. They are granted one after the other, and
// each writes a mark into its own data then. So it is enough to watch the first one without a mark.
type marks struct {
	session *session.Session
	turn    *observe.Turn
	changed func()               // called when held has changed
	held    map[string]time.Time // when each was granted, by path; zero if that is unknown
	path    string               // of the contender that is watched, "" for none
	stop    context.CancelFunc
}

// follow watches the first contender in the queue without a mark.
func (m *marks) follow(entries []contenders.Entry) {
	held := make(map[string]time.Time, len(m.held))
	first := ""
	for _, e := range entries {
		at, known := m.held[e.Path]
		switch {
		case e.Held || known:
			held[e.Path] = cmp.Or(at, e.Granted)
		case first == "" && e.Contender.Marks() && !e.Unread:
			first = e.Path
		}
	}
	m.held = held
	if first == m.path {
		return
	}
	m.leave()
	if m.path = first; first != "" {
		var ctx context.Context
		ctx, m.stop = context.WithCancel(m.turn.Context())
		observe.Each(ctx, m.turn, contenders.Follow(ctx, m.session, first), m.saw)
	}
}

// leave stops watching.
func (m *marks) leave() {
	if m.stop != nil {
		m.stop()
	}
	m.path, m.stop = "", nil
}

// saw takes the data of the watched contender. The listing of the queue reports its deletion.
func (m *marks) saw(d contenders.Observation, open bool) {
	if notes, _ := znode.ParseNotes(d.Bytes); open && d.Exists && notes.Held {
		m.held[m.path] = contenders.Granted(d.Stat)
		m.changed()
	}
}

// on adds the marks known so far to the entries of the queue.
func (m *marks) on(entries []contenders.Entry) []contenders.Entry {
	entries = slices.Clone(entries)
	for i := range entries {
		entries[i].Granted, entries[i].Held = m.held[entries[i].Path]
	}
	return entries
}
