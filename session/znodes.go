package session

import (
	"errors"
	"log/slog"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// znodes creates and deletes what a session has standing in ZooKeeper, for certain, and keeps the
// record of it: what may exist is entered before it is asked for. Its methods run in tasks, unless
// they say otherwise, and take the mutex themselves.
type znodes struct {
	requests *requests
	space    *namespace
	log      *slog.Logger
}

// expect enters the ephemeral znodes that a transaction is about to create: one for each operation,
// nil for those that create none.
func (z *znodes) expect(t *client, e *epoch, asks []jute.Request) ([]*contender, error) {
	creates := make([]*contender, len(asks))
	l := z.requests.state.lock()
	defer l.unlock()
	if e.over || l.closing {
		return nil, ErrExpired
	}
	for i, ask := range asks {
		if ask.Op == jute.OpDelete {
			l.record.suspect(z.space.relative(ask.Path))
		}
		if ask.Op != jute.OpCreate || ask.Flags != jute.FlagEphemeral && ask.Flags != jute.FlagEphemeralSequential {
			continue
		}
		_, name := znode.Split(ask.Path)
		creates[i] = &contender{client: t, epoch: e, parent: z.space.relative(parentOf(ask.Path)), head: name, data: ask.Data}
		if _, _, once := znode.Protection(name); ask.Flags == jute.FlagEphemeral && !once {
			creates[i].form, creates[i].transacted = znode.Alone, true // its name may come again; a protected one does not
		}
		l.record.enter(creates[i])
	}
	return creates, nil
}

// settled notes what came of a transaction: what was created stands, what was deleted does not. A
// client that has left meanwhile wants nothing of it.
func (z *znodes) settled(t *client, creates []*contender, asks []jute.Request, sent span, results []zkconn.Result, err error) {
	gone := t.inbox.Left()
	l := z.requests.state.lock()
	for i, c := range creates {
		switch {
		case err == nil && c != nil:
			l.record.forget(c, z.space.relative(results[i].Path)) // what was there before is gone
			l.record.standsAt(c, z.space.relative(results[i].Path))
			c.sent = sent
		case err == nil:
			l.record.changed(asks[i].Op, z.space.relative(asks[i].Path))
		case c == nil:
			o, gone := l.record.byPath[z.space.relative(asks[i].Path)], errors.Is(err, ErrUnknownOutcome) || errors.Is(err, ErrNoNode)
			if o != nil && gone && asks[i].Op == jute.OpDelete {
				z.requests.tasks.run(func() { z.recheck(o) })
			}
		case errors.Is(err, ErrUnknownOutcome) && asks[i].Flags == jute.FlagEphemeral && l.record.byPath[z.space.relative(asks[i].Path)] == nil:
			c.doubtful, c.sent = l.record.standsAt(c, z.space.relative(asks[i].Path)), sent
		case errors.Is(err, ErrUnknownOutcome) && asks[i].Flags == jute.FlagEphemeralSequential:
			c.doubtful = true // its path is looked for when the client wants nothing of it any more
		default:
			l.record.strike(c)
		}
	}
	l.unlock()
	for _, c := range creates {
		if c == nil {
			continue
		}
		c.settled.Close()
		if gone {
			z.sweep(c)
		}
	}
}

// changed notes what an operation that was carried out did to a znode of the record.
func (l *record) changed(kind jute.Op, path string) {
	switch kind {
	case jute.OpDelete:
		if c := l.byPath[path]; c != nil {
			c.client.again.Store(0)
			l.strike(c)
		}
	case jute.OpSetData:
		if c := l.byPath[path]; c != nil && c.doubtful {
			c.doubtful = false // a client changes only what it has made sure is its own
		}
	}
}

// exists looks whether a contender of the record is there, and strikes it if not.
func (z *znodes) exists(t *client, e *epoch, path string) (exists bool, err error) {
	l := z.requests.state.lock()
	c := l.record.at(t, path)
	l.unlock()
	var seen proof
	err = z.requests.insist(e, func(conn *zkconn.Conn) (err error) {
		if c != nil && c.form == znode.Alone {
			exists, err = z.stands(conn, &seen, c)
			return retried(err)
		}
		exists, err = stands(conn, z.space.path(path))
		return retried(err)
	})
	if err == nil && !exists {
		z.removed(c, path, false)
	}
	return exists, err
}

// recheck looks whether a contender is gone: it was to be deleted by a transaction whose answer was
// lost, or which did not find everything. Others may follow it.
func (z *znodes) recheck(c *contender) {
	if z.requests.insist(c.epoch, func(conn *zkconn.Conn) error { return retried(caughtUp(conn, "/")) }) == nil {
		_, _ = z.exists(c.client, c.epoch, c.path) // an error is the end of the epoch, and of the record
	}
}

// missing notes that there is nothing at a path of the session.
func (z *znodes) missing(path string) {
	l := z.requests.state.lock()
	defer l.unlock()
	l.record.gone(path)
	if c := l.record.byPath[path]; c != nil && c.transacted && !c.leaving {
		z.requests.tasks.run(func() { _, _ = z.owned(c) }) // an error is the end of the epoch, and of the record
	}
}

// lacks tells whether a contender is gone, as far as is known.
func (z *znodes) lacks(path string) bool {
	l := z.requests.state.lock()
	defer l.unlock()
	return l.record.byPath[path] == nil && l.record.lacks(path)
}

// returned deletes a contender of the session's own that the record lacks: it was deleted, and is
// back and blocks others, since servers have lost the deletion (ZOOKEEPER-4643). A client asks only
// about the line that it stands in: elsewhere, a znode with such a name is the application's.
func (z *znodes) returned(t *client, number uint64, path string) {
	parent, name := znode.Split(path)
	l := z.requests.state.lock()
	defer l.unlock()
	e := l.current(number)
	if e == nil || parent != t.line || l.record.byPath[path] != nil || !l.record.lacks(path) {
		return
	}
	c := &contender{client: t, epoch: e, parent: parent, head: name, leaving: true}
	c.settled.Close()
	l.record.enter(c)
	l.record.standsAt(c, path)
	z.requests.tasks.run(func() {
		if exists, err := z.exists(t, e, path); err != nil || !exists {
			return // it was being deleted when it was read, or the epoch is over, and with it the record
		}
		z.log.Warn("a contender of this session that was deleted stands again: deleting it", "path", z.space.path(path))
		_ = z.remove(e, path, c) // an error is the end of the epoch
	})
}
