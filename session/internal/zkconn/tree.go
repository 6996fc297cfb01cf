package zkconn

import (
	"encoding/binary"

	"github.com/troupe-go/troupe/internal/jute"
)

// What follows serves trees. Each has one persistent recursive watch at its root, and reads by a
// [Pipeline] whose answers are told in wire order with the events.
//
// Before ZooKeeper 3.9 a session has one watch a path: the mode that was set last counts, and a
// removal takes it whatever its mode (ZOOKEEPER-4466). So while there is a tree's watch, no other
// is set or removed at its root: a read goes without its watch, and the Conn fires that by the
// tree's events. A watch that is there before is taken over likewise.

const (
	recursive  int32 = 1 // the mode of an addWatch
	anyWatches int32 = 3 // the kind of a removal of all watches of a path
)

// Answered: a request of [Pipeline.AddTold] was answered. Tell passes that on.
type Answered struct{ Tell func() }

func (Answered) event() {}

// Follow sets a persistent recursive watch on this connection: [Fired] tells of every change of the
// root and of the znodes below it, but not of changed children as such. told is called behind the
// events of all changes since a transaction, of the znodes with these watches. On the next
// connection it has to be called again: a server that sets such a watch does not tell what was
// missed. The order matters:
//
//   - First setWatches, by which the server tells of each znode what has changed since then, or
//     else sets a watch that fires once. These tell of what changes until the next step, and stay
//     where nothing does.
//   - Then addWatch. Before ZooKeeper 3.9 it takes the place of the root's watch that fires once;
//     the other way round, that would take the place of the tree's.
//   - Behind its reply the caller reads what was told of. So it does no harm that the watches of the
//     first step tell neither of a second change, nor of what comes below a znode that is new.
//
// At roots of other trees the first step would end their watches: it is told that all may have
// changed there. [ErrCalledOff]: another tree has come meanwhile.
func Follow(c *Conn, root string, since int64, watches map[Watch]bool, told func()) error {
	c.core.keepWatches(1)
	defer c.core.keepWatches(-1)
	among := func() (roots []string) {
		for other := range c.core.roots {
			if _, known := watches[Watch{Path: other}]; known {
				roots = append(roots, other)
			}
		}
		return roots
	}
	var asks []jute.Request
	c.core.update(func() {
		for _, other := range among() {
			delete(watches, Watch{other, false})
			delete(watches, Watch{other, true})
			c.core.fire(jute.NodeDataChanged, other)
			c.core.fire(jute.NodeChildrenChanged, other)
		}
		asks = c.core.setWatches(since, watches)
	})
	for i := range asks {
		if _, err := c.one(&request{ask: asks[i], holds: func() bool { return len(among()) == 0 }}); err != nil {
			return err
		}
	}
	r := &request{ask: jute.Request{Op: jute.OpAddWatch, Path: root, Flags: recursive}}
	r.told = func() {
		if r.reply.Err == jute.OK {
			told()
		}
	}
	_, err := c.one(r)
	return err
}

// Unfollow removes the watch of [Follow] unless it is needed, by what is asked in the moment in
// which the place of the removal among the requests is fixed. needed must not block. The other
// watches at the root fire, so that who depends on them reads again, with a watch.
func Unfollow(c *Conn, root string, needed func() bool) {
	r := &request{ask: jute.Request{Op: jute.OpRemoveWatches, Path: root, Kind: anyWatches}}
	r.holds = func() bool { return c.core.roots[root] > 0 && !needed() }
	_ = c.do(r) // without a connection there is no watch
}

// KeepWatches has all watches stay from now on, whatever [Conn.Unwatch] is asked: a tree depends on
// some that fire once.
func KeepWatches(c *Conn) { c.core.keepWatches(1) }

func (c *core) keepWatches(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keeping += n
}

// rooted takes the request into account that is about to be written, and changes its frame if there
// is a tree's watch at its path. Under mu.
func (c *core) rooted(r *request, frame []byte) {
	at := r.ask.Path
	switch {
	case r.ask.Op == jute.OpAddWatch:
		c.roots[at]++
	case r.ask.Op == jute.OpRemoveWatches && r.ask.Kind == anyWatches:
		delete(c.roots, at)
	case r.ask.Op == jute.OpRemoveWatches:
		if c.roots[at] > 0 || c.keeping > 0 {
			binary.BigEndian.PutUint32(frame[8:], uint32(jute.OpCheckWatches)) // has the same form, and changes nothing
		}
		delete(c.watches, Watch{at, r.ask.Kind == childWatches}) // it is not armed again, also if this fails
	case r.ask.Watch && c.roots[at] > 0:
		frame[len(frame)-1] = 0 // without the watch
	}
}

// rootSettled takes the reply to a request. If there is no tree's watch any more at its path, the
// others there are fired, which may be gone with it. Under mu.
func (c *core) rootSettled(r *request) {
	refused := r.ask.Op == jute.OpAddWatch && r.reply.Err != jute.OK
	if refused {
		if c.roots[r.ask.Path]--; c.roots[r.ask.Path] <= 0 {
			delete(c.roots, r.ask.Path)
		}
	}
	if refused || r.ask.Op == jute.OpRemoveWatches && r.ask.Kind == anyWatches {
		c.fire(jute.NodeDataChanged, r.ask.Path)
		c.fire(jute.NodeChildrenChanged, r.ask.Path)
	}
}
