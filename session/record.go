package session

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// contender is a znode of a client that stands in ZooKeeper, or may: it is entered before its
// creation is asked for.
type contender struct {
	client  *client
	epoch   *epoch
	parent  string
	guid    znode.GUID
	head    string       // what its name begins with
	path    string       // "" until it is known
	since   time.Time    // it stands
	settled notify.Latch // whether it was created is known
	leaving bool         // it is being deleted
	removal *removal     // that deletion
	hold    *Hold        // what came of it
	next    []*client    // who follow it: see [client.Follow]
	stretch int          // how long the stretch was in which they were told of a possession; 0: not all were told

	form  znode.Form
	data  []byte // that it is created with
	czxid int64  // 0: not known

	// Of one that a transaction created, and whose answer was lost. Under a name without a number,
	// it is the client's only if the session owns it and these are its data. The path of one with a
	// number is not known: see search.
	doubtful   bool
	sent       span // when a transaction created it, if it did
	transacted bool // created by a transaction, under a name without a number and a GUID

	// A request that deletes it, or puts another in its place, was under way. Or, of the form
	// Alone, something says that there is nothing at its path. That may be about another znode
	// there, before it or after it.
	suspect bool
}

// span is a stretch of the history of ZooKeeper: behind one transaction, and up to another.
type span struct{ after, until int64 }

// covers: a znode with that Czxid was created in it, as far as is known.
func (s span) covers(czxid int64) bool { return czxid == 0 || s.after < czxid && czxid <= s.until }

// record is what exists, or may, in the present epoch. It is guarded by the session's mutex and
// outlives every actor.
type record struct {
	all    map[*contender]struct{}
	byPath map[string]*contender
	turns  map[createKey]*notify.Latch // of those whose creates are under way: see turn
	joins  map[joinKey]*joins
}

func (l *record) enter(c *contender) {
	if l.all == nil {
		l.all, l.byPath = make(map[*contender]struct{}), make(map[string]*contender)
	}
	l.all[c] = struct{}{}
	if c.client.standing == nil {
		c.client.standing = make(map[*contender]struct{})
	}
	c.client.standing[c] = struct{}{}
}

// standsAt notes that a contender was created; false if it was given up meanwhile, with its epoch.
func (l *record) standsAt(c *contender, path string) bool {
	if _, ok := l.all[c]; !ok {
		return false
	}
	if o := c.client.last; c.client.again.Add(1) > 1 && (o.hold != nil && !o.hold.over.Load() || o.parent != c.parent || c.form == znode.Alone && o.head != c.head || time.Since(o.since) >= lasting) {
		c.client.again.Store(1) // the one before stands, has lasted, or is elsewhere
	}
	c.client.last, c.path, c.since = c, path, time.Now()
	l.byPath[path] = c
	return true
}

// strike takes a contender out: it does not exist, for certain.
func (l *record) strike(c *contender) {
	if len(c.next) > 0 {
		c.client.session.tasks.run(c.telling(machine.Deleted))
	}
	delete(l.all, c)
	delete(c.client.standing, c)
	if l.byPath[c.path] == c {
		delete(l.byPath, c.path)
	}
}

// suspect notes that what the record has at a path, if anything, may be gone.
func (l *record) suspect(path string) {
	if c := l.byPath[path]; c != nil {
		c.suspect = true
	}
}

// gone notes that there is nothing at a path.
func (l *record) gone(path string) {
	if c := l.byPath[path]; c == nil || c.form == znode.Alone {
		l.suspect(path)
	} else {
		l.strike(c)
	}
}

// lacks tells whether a contender is gone or going, as far as is known. Its name has a GUID, so
// that it does not come again: it was entered before it was created, and is struck when it is gone.
func (l *record) lacks(path string) bool {
	if c := l.byPath[path]; c != nil {
		return c.leaving && c.form.Named()
	}
	parent, name := znode.Split(path)
	for c := range l.all {
		if c.path == "" && c.parent == parent && strings.HasPrefix(name, c.head) {
			return false // it is being created
		}
	}
	c, _ := znode.ParseContender(name)
	return c.GUID != ""
}

// forget strikes what a contender's client had at its path before, where names come again: it has
// another there now, so that is gone.
func (l *record) forget(c *contender, path string) {
	for _, o := range l.of(c.client) {
		if o != c && o.form == znode.Alone && o.path == path {
			l.strike(o)
		}
	}
}

// at is what a client has at a path. Where it has none, it is whatever the record has there, unless
// that is alone there: then it is another client's.
func (l *record) at(t *client, path string) *contender {
	c := l.byPath[path]
	if c == nil || c.form != znode.Alone || c.client == t {
		return c
	}
	for _, o := range l.of(t) {
		if o.path == path {
			return o
		}
	}
	return nil
}

// evidence are the paths of znodes that show whether the ZooKeeper session of the record is over: a
// few of those that stand for certain. It is empty if none does and some may stand, and nil if
// there is nothing.
func (l *record) evidence(space *namespace) []string {
	if len(l.all) == 0 {
		return nil
	}
	certain := []string{}
	for c := range l.all {
		if len(certain) < enough && c.path != "" && !c.suspect && !c.doubtful && !c.leaving {
			certain = append(certain, space.path(c.path))
		}
	}
	return certain
}

// of are the contenders of a client.
func (*record) of(t *client) []*contender { return slices.Collect(maps.Keys(t.standing)) }

// clear forgets everything: the epoch is over.
func (l *record) clear() {
	for c := range l.all {
		c.settled.Close()
		c.client.standing = nil
	}
	clear(l.all)
	clear(l.byPath)
}

// znodes creates and deletes what a session has standing in ZooKeeper, for certain, and keeps the
// record of it: what may exist is entered before it is asked for. Its methods run in tasks, unless
// they say otherwise, and take the mutex themselves.
type znodes struct {
	requests *requests
	space    *namespace
	log      *slog.Logger
}

// again pauses before what was soon over, so many times in a row, is tried again: from the third
// on.
func (z *znodes) again(ctx context.Context, times int, warning, key, value string) {
	if try := times - 2; try > 0 {
		if try == 1 {
			z.log.Warn(warning, key, value)
		}
		z.requests.pause(ctx, backoff(try))
	}
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
