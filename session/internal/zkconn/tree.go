package zkconn

import (
	"encoding/binary"
	"maps"
	"slices"

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
// events of what has changed since a transaction. A server that sets such a watch on the next
// connection does not tell what was missed, so that the order matters:
//
//   - setWatches: the server tells of each known znode whether it has changed since, or sets a watch
//     that fires once, which tells of a change before the next step, and else stays.
//   - addWatch. Before ZooKeeper 3.9 it takes the place of a watch of the root that fires once; the
//     other way round, that would take the place of the tree's.
//   - Then the caller reads what was told of. So a second change between the first two does not
//     matter, nor what comes below a new znode, though neither is told.
//
// At roots of other trees setWatches would end their watches: there it is told that all may have
// changed. [ErrCalledOff]: another tree has come meanwhile.
func Follow(c *Conn, root string, since int64, watches map[Watch]bool, told func()) error {
	KeepWatches(c, 1)
	defer KeepWatches(c, -1)
	known := func(path string) bool { _, is := watches[Watch{Path: path}]; return is }
	var asks []jute.Request
	c.core.update(func() {
		for other := range c.core.roots {
			if known(other) {
				delete(watches, Watch{other, false})
				delete(watches, Watch{other, true})
				c.core.fire(jute.NodeDataChanged, other)
				c.core.fire(jute.NodeChildrenChanged, other)
			}
		}
		asks = c.core.setWatches(since, watches)
	})
	alone := func() bool { return !slices.ContainsFunc(slices.Collect(maps.Keys(c.core.roots)), known) }
	for i := range asks {
		if _, err := c.one(&request{ask: asks[i], holds: alone}); err != nil {
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

// KeepWatches has all watches stay from now on, whatever [Conn.Unwatch] is asked, since a tree
// depends on some that fire once: 1. It does so no more: -1.
func KeepWatches(c *Conn, n int) { c.core.update(func() { c.core.keeping += n }) }

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
