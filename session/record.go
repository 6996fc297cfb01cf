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
// the record before its creation is asked for. It is in one of these states:
//
//	being created   resolved is open, path ""
//	created         resolved is closed, path is set
//	doubtful        resolved is closed: the answer to a transaction was lost; path "" if the server numbers the name
//	being deleted   leaving; path is set
type ephemeral struct {
	// What is asked for. It is constant.
	client     *client
	epoch      *epoch
	parent     string
	head       string // how its name begins; without a number, the whole name
	form       znode.Form
	data       []byte
	transacted bool // a transaction creates it, at a path where another one may be created later

	// Its creation.
	resolved notify.Latch // closed when its outcome is known, as far as the answer tells it
	path     string       // "" until it is known
	created  time.Time    // when path became known
	czxid    int64        // 0: not known
	sent     span         // when a transaction created it, if it did; zero for a Join
	doubtful bool         // it may not exist, or be another client's: see owned

	// Its possession, of which clients that wait behind it are told.
	hold      *Hold     // nil: it has none yet
	followers []*client // see [client.Follow]
	told      int       // length of the stretch (see tellHeld) in which its followers were told of a possession; 0: not all were

	// Its end.
	suspect bool     // it may be gone: a request deletes or replaces it, or (form Alone) nothing was at its path at some moment
	leaving bool     // it is to be deleted
	removal *removal // the deletion, once it has begun
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

func (r *record) enter(n *ephemeral) {
	r.all[n] = struct{}{}
	if n.client.ephemerals == nil {
		n.client.ephemerals = make(map[*ephemeral]struct{})
	}
	n.client.ephemerals[n] = struct{}{}
}

// created records that a znode was created; false if it was given up meanwhile, with its epoch.
func (r *record) created(n *ephemeral, path string) bool {
	if _, entered := r.all[n]; !entered {
		return false
	}
	if c := n.client; c.repeats.Add(1) > 1 && !n.repeats(c.last) {
		c.repeats.Store(1)
	}
	n.client.last = n
	r.place(n, path)
	return true
}

// repeats reports whether a creation may have been necessary since the one before was in vain: that
// znode was created at the same place, a short time ago, and is not a possession now.
func (n *ephemeral) repeats(before *ephemeral) bool {
	possessed := before.hold != nil && !before.hold.ended.Load()
	samePlace := before.parent == n.parent && (n.form != znode.Alone || before.head == n.head)
	return samePlace && !possessed && time.Since(before.created) < longEnough
}

func (r *record) place(n *ephemeral, path string) {
	n.path, n.created = path, time.Now()
	r.byPath[path] = n
}

// strike takes a znode out: it does not exist, for certain. Its followers are told.
func (r *record) strike(n *ephemeral) {
	if len(n.followers) > 0 {
		n.client.session.tasks.run(r.telling(n, machine.Deleted))
	}
	delete(r.all, n)
	delete(n.client.ephemerals, n)
	if r.byPath[n.path] == n {
		delete(r.byPath, n.path)
	}
}

// suspect records that the znode at a path, if the record has one, may be gone.
func (r *record) suspect(path string) {
	if n := r.byPath[path]; n != nil {
		n.suspect = true
	}
}

// gone records an answer or an event that said that there is nothing at a path. Where names come
// again that may be about an earlier znode, so the present one is only suspect.
func (r *record) gone(path string) {
	if n := r.byPath[path]; n == nil || n.form == znode.Alone {
		r.suspect(path)
	} else {
		r.strike(n)
	}
}

// lacksOrDeletes reports whether a contender is gone, or is being deleted. Its name has a GUID, so
// no other znode has it: it was entered before it was created, and is struck when it is gone.
func (r *record) lacksOrDeletes(path string) bool {
	if n := r.byPath[path]; n != nil {
		return n.leaving && n.form.Named()
	}
	parent, name := znode.Split(path)
	for n := range r.all {
		if n.path == "" && n.parent == parent && strings.HasPrefix(name, n.head) {
			return false // it is being created
		}
	}
	named, _ := znode.ParseContender(name)
	return named.GUID != ""
}

// forget strikes the znode of form Alone that a client had at a path before: n, of the same client,
// exists there now, so the former is gone.
func (r *record) forget(n *ephemeral, path string) {
	for _, o := range r.of(n.client) {
		if o != n && o.form == znode.Alone && o.path == path {
			r.strike(o)
		}
	}
}

// at returns the znode that a request of a client about a path means: the client's own, else
// another client's; nil if the record has none. Another client's of form Alone is not meant, since
// its name comes again.
func (r *record) at(t *client, path string) *ephemeral {
	n := r.byPath[path]
	if n == nil || n.form != znode.Alone || n.client == t {
		return n
	}
	for _, o := range r.of(t) {
		if o.path == path {
			return o
		}
	}
	return nil
}

// evidence returns the paths of a few znodes that exist for certain: as long as they do, the
// ZooKeeper session of the record has not ended. It is empty, not nil, if the record has only
// znodes that may exist, and nil if the record is empty.
func (r *record) evidence(space *namespace) []string {
	if len(r.all) == 0 {
		return nil
	}
	certain := []string{}
	for n := range r.all {
		if len(certain) < enough && n.path != "" && !n.suspect && !n.doubtful && !n.leaving {
			certain = append(certain, space.path(n.path))
		}
	}
	return certain
}

func (*record) of(t *client) []*ephemeral { return slices.Collect(maps.Keys(t.ephemerals)) }

// clear forgets everything: the epoch has ended.
func (r *record) clear() {
	for n := range r.all {
		n.resolved.Close()
		n.client.ephemerals = nil
	}
	clear(r.all)
	clear(r.byPath)
}

// znodes creates and deletes the znodes of a session's clients, for certain, and keeps the record
// of them. Its methods run in tasks, unless they say otherwise, and take the mutex themselves.
type znodes struct {
	sender *sender
	space  *namespace
	log    *slog.Logger
}

// pauseIfRepeated pauses before something is created that has ended soon after it was created, that
// many times in a row. The first two repetitions are without a pause.
func (z *znodes) pauseIfRepeated(ctx context.Context, times int, warning, key, value string) {
	if try := times - 2; try > 0 {
		if try == 1 {
			z.log.Warn(warning, key, value)
		}
		z.sender.pause(ctx, backoff(z.sender.tasks.source, try))
	}
}

// expect enters the ephemeral znodes that a transaction is about to create. It returns one for each
// operation, nil for those that create none.
func (z *znodes) expect(t *client, e *epoch, asks []jute.Request) ([]*ephemeral, error) {
	creates := make([]*ephemeral, len(asks))
	g := z.sender.state.lock()
	defer g.unlock()
	if e.ended || g.closing {
		return nil, ErrExpired
	}
	for i, ask := range asks {
		if ask.Op == jute.OpDelete {
			g.record.suspect(z.space.relative(ask.Path))
		}
		if ask.Op != jute.OpCreate || ask.Flags != jute.FlagEphemeral && ask.Flags != jute.FlagEphemeralSequential {
			continue // it creates none
		}
		_, name := znode.Split(ask.Path)
		creates[i] = &ephemeral{client: t, epoch: e, parent: z.space.relative(parentOf(ask.Path)), head: name, data: ask.Data}
		if _, _, protected := znode.Protection(name); ask.Flags == jute.FlagEphemeral && !protected { // its name may come again
			creates[i].form, creates[i].transacted = znode.Alone, true
		}
		g.record.enter(creates[i])
	}
	return creates, nil
}

// recordOutcome records the outcome of a transaction: the znodes that it created exist, those that
// it deleted do not. If the client has left meanwhile, what was created is deleted.
func (z *znodes) recordOutcome(t *client, creates []*ephemeral, asks []jute.Request, sent span, results []zkconn.Result, err error) {
	left, unknown := t.Left(), errors.Is(err, ErrUnknownOutcome)
	var contested []*ephemeral // may have been created, at paths where the record has others
	g := z.sender.state.lock()
	for i, n := range creates {
		path := z.space.relative(asks[i].Path)
		switch {
		case n == nil && err == nil: // it creates none, and was carried out
			g.record.changed(asks[i].Op, path)
		case n == nil: // it creates none, and was not carried out, or may not have been
			o := g.record.byPath[path]
			if o != nil && asks[i].Op == jute.OpDelete && (unknown || errors.Is(err, ErrNoNode)) {
				z.sender.tasks.run(func() { z.recheck(o) })
			}
		case err == nil:
			path = z.space.relative(results[i].Path) // with its number
			g.record.forget(n, path)
			g.record.created(n, path)
			n.sent = sent
		case !unknown: // it was refused
			g.record.strike(n)
		case asks[i].Flags == jute.FlagEphemeralSequential: // its path is not known: see findCreated
			n.doubtful = true
		case g.record.byPath[path] == nil: // it may be there: see owned
			n.doubtful, n.sent = g.record.created(n, path), sent
		default: // it may be there, or still the one that the record has: see owned
			n.path, n.doubtful, n.sent = path, true, sent
			contested = append(contested, n)
		}
	}
	g.unlock()
	for _, n := range contested {
		_, _ = z.owned(n) // an error is the end of the epoch, and of the record
	}
	for _, n := range creates {
		if n == nil {
			continue
		}
		n.resolved.Close()
		if left {
			z.sweep(n)
		}
	}
}

// changed records what an operation that was carried out did to a znode of the record.
func (r *record) changed(kind jute.Op, path string) {
	n := r.byPath[path]
	switch {
	case n == nil:
	case kind == jute.OpDelete:
		n.client.repeats.Store(0)
		r.strike(n)
	case kind == jute.OpSetData:
		n.doubtful = false // a client changes only what it has made sure is its own
	}
}

// exists asks ZooKeeper whether the client's znode at a path exists, and strikes it if not.
func (z *znodes) exists(t *client, e *epoch, path string) (exists bool, err error) {
	g := z.sender.state.lock()
	n := g.record.at(t, path)
	g.unlock()
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

// recheck finds out whether a znode is gone, for the sake of its followers: a transaction was to
// delete it, and the answer was lost or was [ErrNoNode].
func (z *znodes) recheck(n *ephemeral) {
	if z.sender.insist(n.epoch, func(conn *zkconn.Conn) error { return retried(caughtUp(conn, "/")) }) == nil {
		_, _ = z.exists(n.client, n.epoch, n.path) // an error is the end of the epoch, and of the record
	}
}

// missing records an answer that there is nothing at a path. A znode there that a transaction
// created is read again: the answer may be about an earlier one.
func (z *znodes) missing(path string) {
	g := z.sender.state.lock()
	defer g.unlock()
	g.record.gone(path)
	if n := g.record.byPath[path]; n != nil && n.transacted && !n.leaving {
		z.sender.tasks.run(func() { _, _ = z.owned(n) }) // an error is the end of the epoch, and of the record
	}
}

// lacks reports whether a contender is gone, and not just being deleted, as far as is known.
func (z *znodes) lacks(path string) bool {
	g := z.sender.state.lock()
	defer g.unlock()
	return g.record.byPath[path] == nil && g.record.lacksOrDeletes(path)
}

// returned deletes a contender of this session that the record lacks: it was deleted, but servers
// have lost the deletion (ZOOKEEPER-4643), and it blocks others. The client must have a contender
// in the same queue: elsewhere, a znode with such a name is the application's.
func (z *znodes) returned(t *client, number uint64, path string) {
	parent, name := znode.Split(path)
	g := z.sender.state.lock()
	defer g.unlock()
	e := g.current(number)
	if e == nil || parent != t.queue || g.record.byPath[path] != nil || !g.record.lacksOrDeletes(path) {
		return
	}
	n := &ephemeral{client: t, epoch: e, parent: parent, head: name, leaving: true}
	n.resolved.Close()
	g.record.enter(n)
	g.record.place(n, path)
	z.sender.tasks.run(func() {
		if exists, err := z.exists(t, e, path); err != nil || !exists {
			return // it was being deleted when it was read, or the epoch has ended, and with it the record
		}
		z.log.Warn("a contender of this session that was deleted stands again: deleting it", "path", z.space.path(path))
		_ = z.remove(e, path, n) // an error is the end of the epoch
	})
}
