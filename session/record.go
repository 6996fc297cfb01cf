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

// ephemeral is an ephemeral znode of a client that exists in ZooKeeper, or may: it is entered in
// the record before its creation is asked for.
type ephemeral struct {
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

	// A transaction was to create it whose answer was lost. If its name has no number, it is the
	// client's only if the session owns it and these are its data. If it has one, its path is not
	// known: see findCreated.
	doubtful   bool
	sent       span // when a transaction created it, if it did
	transacted bool // created by a transaction, under a name without a number and a GUID

	// A request that deletes it, or puts another in its place, was under way. Or it is of the form
	// Alone, and an answer or an event says that there is nothing at its path, which may be about
	// another znode there, before it or after it.
	suspect bool
}

// span is a part of ZooKeeper's history: the transactions after one, up to another.
type span struct{ after, until int64 }

// covers tells whether a znode with that Czxid may have been created in it; 0: the Czxid is not
// known.
func (s span) covers(czxid int64) bool { return czxid == 0 || s.after < czxid && czxid <= s.until }

// record has the znodes that exist, or may, in the present epoch. It is guarded by the session's
// mutex and outlives every actor.
type record struct {
	all    map[*ephemeral]struct{}
	byPath map[string]*ephemeral
	turns  map[createKey]*notify.Latch // creates that are under way: see turn
	joins  map[joinKey]*joins
}

func (l *record) enter(n *ephemeral) {
	if l.all == nil {
		l.all, l.byPath = make(map[*ephemeral]struct{}), make(map[string]*ephemeral)
	}
	l.all[n] = struct{}{}
	if n.client.ephemerals == nil {
		n.client.ephemerals = make(map[*ephemeral]struct{})
	}
	n.client.ephemerals[n] = struct{}{}
}

// created notes that a znode was created; false if it was given up meanwhile, with its epoch.
func (l *record) created(n *ephemeral, path string) bool {
	if _, ok := l.all[n]; !ok {
		return false
	}
	if o := n.client.last; n.client.again.Add(1) > 1 && (o.hold != nil && !o.hold.over.Load() || o.parent != n.parent || n.form == znode.Alone && o.head != n.head || time.Since(o.since) >= lasting) {
		n.client.again.Store(1) // the one before still exists, has lasted, or is elsewhere
	}
	n.client.last, n.path, n.since = n, path, time.Now()
	l.byPath[path] = n
	return true
}

// strike takes a znode out: it does not exist, for certain.
func (l *record) strike(n *ephemeral) {
	if len(n.next) > 0 {
		n.client.session.tasks.run(l.telling(n, machine.Deleted))
	}
	delete(l.all, n)
	delete(n.client.ephemerals, n)
	if l.byPath[n.path] == n {
		delete(l.byPath, n.path)
	}
}

// suspect notes that the znode at a path, if the record has one, may be gone.
func (l *record) suspect(path string) {
	if n := l.byPath[path]; n != nil {
		n.suspect = true
	}
}

// gone notes that there is nothing at a path.
func (l *record) gone(path string) {
	if n := l.byPath[path]; n == nil || n.form == znode.Alone {
		l.suspect(path)
	} else {
		l.strike(n)
	}
}

// lacks tells whether a contender is gone or going, as far as is known. Its name has a GUID, so
// that it does not come again: it was entered before it was created, and is struck when it is gone.
func (l *record) lacks(path string) bool {
	if n := l.byPath[path]; n != nil {
		return n.leaving && n.form.Named()
	}
	parent, name := znode.Split(path)
	for n := range l.all {
		if n.path == "" && n.parent == parent && strings.HasPrefix(name, n.head) {
			return false // it is being created
		}
	}
	named, _ := znode.ParseContender(name)
	return named.GUID != ""
}

// forget strikes the znode that a client had at a path before, where names come again: the client
// has another one there now, so the former is gone.
func (l *record) forget(n *ephemeral, path string) {
	for _, o := range l.of(n.client) {
		if o != n && o.form == znode.Alone && o.path == path {
			l.strike(o)
		}
	}
}

// at is what a client has at a path. If it has nothing there, it is what the record has there,
// unless that is alone there: then it is another client's.
func (l *record) at(t *client, path string) *ephemeral {
	n := l.byPath[path]
	if n == nil || n.form != znode.Alone || n.client == t {
		return n
	}
	for _, o := range l.of(t) {
		if o.path == path {
			return o
		}
	}
	return nil
}

// evidence returns the paths of a few znodes that exist for certain: they show whether the
// ZooKeeper session of the record is over. It is empty if some may exist, and nil if the record is
// empty.
func (l *record) evidence(space *namespace) []string {
	if len(l.all) == 0 {
		return nil
	}
	certain := []string{}
	for n := range l.all {
		if len(certain) < enough && n.path != "" && !n.suspect && !n.doubtful && !n.leaving {
			certain = append(certain, space.path(n.path))
		}
	}
	return certain
}

// of returns the znodes of a client.
func (*record) of(t *client) []*ephemeral { return slices.Collect(maps.Keys(t.ephemerals)) }

// clear forgets everything: the epoch is over.
func (l *record) clear() {
	for n := range l.all {
		n.settled.Close()
		n.client.ephemerals = nil
	}
	clear(l.all)
	clear(l.byPath)
}

// znodes creates and deletes the znodes of a session's clients, for certain, and keeps the record
// of them: a znode is entered before its creation is asked for. Its methods run in tasks, unless
// they say otherwise, and take the mutex themselves.
type znodes struct {
	sender *sender
	space  *namespace
	log    *slog.Logger
}

// again pauses before another try of something that was soon over so many times in a row: from the
// third on.
func (z *znodes) again(ctx context.Context, times int, warning, key, value string) {
	if try := times - 2; try > 0 {
		if try == 1 {
			z.log.Warn(warning, key, value)
		}
		z.sender.pause(ctx, backoff(try))
	}
}

// expect enters the ephemeral znodes that a transaction is about to create: one for each operation,
// nil for those that create none.
func (z *znodes) expect(t *client, e *epoch, asks []jute.Request) ([]*ephemeral, error) {
	creates := make([]*ephemeral, len(asks))
	l := z.sender.state.lock()
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
		creates[i] = &ephemeral{client: t, epoch: e, parent: z.space.relative(parentOf(ask.Path)), head: name, data: ask.Data}
		if _, _, once := znode.Protection(name); ask.Flags == jute.FlagEphemeral && !once {
			creates[i].form, creates[i].transacted = znode.Alone, true // its name may come again; a protected one does not
		}
		l.record.enter(creates[i])
	}
	return creates, nil
}

// settled notes the outcome of a transaction: the znodes that it created exist, those that it
// deleted do not. If the client has left meanwhile, what was created is deleted.
func (z *znodes) settled(t *client, creates []*ephemeral, asks []jute.Request, sent span, results []zkconn.Result, err error) {
	gone := t.Left()
	l := z.sender.state.lock()
	for i, n := range creates {
		switch {
		case err == nil && n != nil:
			l.record.forget(n, z.space.relative(results[i].Path)) // the znode that was there before is gone
			l.record.created(n, z.space.relative(results[i].Path))
			n.sent = sent
		case err == nil:
			l.record.changed(asks[i].Op, z.space.relative(asks[i].Path))
		case n == nil:
			o, gone := l.record.byPath[z.space.relative(asks[i].Path)], errors.Is(err, ErrUnknownOutcome) || errors.Is(err, ErrNoNode)
			if o != nil && gone && asks[i].Op == jute.OpDelete {
				z.sender.tasks.run(func() { z.recheck(o) })
			}
		case errors.Is(err, ErrUnknownOutcome) && asks[i].Flags == jute.FlagEphemeral && l.record.byPath[z.space.relative(asks[i].Path)] == nil:
			n.doubtful, n.sent = l.record.created(n, z.space.relative(asks[i].Path)), sent
		case errors.Is(err, ErrUnknownOutcome) && asks[i].Flags == jute.FlagEphemeralSequential:
			n.doubtful = true // its path is looked for when the client has given it up
		default:
			l.record.strike(n)
		}
	}
	l.unlock()
	for _, n := range creates {
		if n == nil {
			continue
		}
		n.settled.Close()
		if gone {
			z.sweep(n)
		}
	}
}

// changed notes what an operation that was carried out did to a znode of the record.
func (l *record) changed(kind jute.Op, path string) {
	switch kind {
	case jute.OpDelete:
		if n := l.byPath[path]; n != nil {
			n.client.again.Store(0)
			l.strike(n)
		}
	case jute.OpSetData:
		if n := l.byPath[path]; n != nil && n.doubtful {
			n.doubtful = false // a client changes only what it has made sure is its own
		}
	}
}

// exists looks whether a contender of the record is there, and strikes it if not.
func (z *znodes) exists(t *client, e *epoch, path string) (exists bool, err error) {
	l := z.sender.state.lock()
	n := l.record.at(t, path)
	l.unlock()
	var seen proof
	err = z.sender.insist(e, func(conn *zkconn.Conn) (err error) {
		if n != nil && n.form == znode.Alone {
			exists, err = z.stillThere(conn, &seen, n)
			return retried(err)
		}
		exists, err = znodeExists(conn, z.space.path(path))
		return retried(err)
	})
	if err == nil && !exists {
		z.removed(n, path, false)
	}
	return exists, err
}

// recheck looks whether a contender is gone: it was to be deleted by a transaction whose answer was
// lost, or which did not find everything. Others may follow it.
func (z *znodes) recheck(n *ephemeral) {
	if z.sender.insist(n.epoch, func(conn *zkconn.Conn) error { return retried(caughtUp(conn, "/")) }) == nil {
		_, _ = z.exists(n.client, n.epoch, n.path) // an error is the end of the epoch, and of the record
	}
}

// missing notes that there is nothing at a path of the session.
func (z *znodes) missing(path string) {
	l := z.sender.state.lock()
	defer l.unlock()
	l.record.gone(path)
	if n := l.record.byPath[path]; n != nil && n.transacted && !n.leaving {
		z.sender.tasks.run(func() { _, _ = z.owned(n) }) // an error is the end of the epoch, and of the record
	}
}

// lacks tells whether a contender is gone, as far as is known.
func (z *znodes) lacks(path string) bool {
	l := z.sender.state.lock()
	defer l.unlock()
	return l.record.byPath[path] == nil && l.record.lacks(path)
}

// returned deletes a contender of the session's own that the record lacks: it was deleted, and is
// back and blocks others, since servers have lost the deletion (ZOOKEEPER-4643). A client asks only
// about the line that it stands in: elsewhere, a znode with such a name is the application's.
func (z *znodes) returned(t *client, number uint64, path string) {
	parent, name := znode.Split(path)
	l := z.sender.state.lock()
	defer l.unlock()
	e := l.current(number)
	if e == nil || parent != t.line || l.record.byPath[path] != nil || !l.record.lacks(path) {
		return
	}
	n := &ephemeral{client: t, epoch: e, parent: parent, head: name, leaving: true}
	n.settled.Close()
	l.record.enter(n)
	l.record.created(n, path)
	z.sender.tasks.run(func() {
		if exists, err := z.exists(t, e, path); err != nil || !exists {
			return // it was being deleted when it was read, or the epoch is over, and with it the record
		}
		z.log.Warn("a contender of this session that was deleted stands again: deleting it", "path", z.space.path(path))
		_ = z.remove(e, path, n) // an error is the end of the epoch
	})
}
