package session

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/troupe-go/troupe/internal/notify"
	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
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
	next    []*client    // who follow it: see follow.go
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
