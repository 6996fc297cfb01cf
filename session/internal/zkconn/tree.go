package zkconn

import (
	"encoding/binary"
	"errors"
	"path"
	"slices"

	"github.com/troupe-go/troupe/internal/jute"
)

// What follows serves a tree, which has one persistent recursive watch at its root, and reads whose
// answers are told in wire order with the events.
//
// Before ZooKeeper 3.9 a session has one watch a path: the mode that was set last counts, and a
// removal takes it whatever its mode (ZOOKEEPER-4466). So while there is a tree's watch, no other
// is set or removed at its root: a read goes without its watch, and the Conn fires that by the
// tree's events. A watch that is there before is taken over likewise.

// recursive is the mode of an addWatch.
const recursive int32 = 1

// anyWatches is the kind of a removal of all watches of a path.
const anyWatches int32 = 3

// readHead is what a read adds to a multiRead beside its path.
const readHead = 14

// Answered: a read of [Tree.Read] was answered. Tell passes that on.
type Answered struct{ Tell func() }

func (Answered) event() {}

// Tree is what a tree asks for.
type Tree struct {
	conn *Conn
	root string
}

// Tree is the tree with that root.
func (c *Conn) Tree(root string) *Tree { return &Tree{c, root} }

// Watch sets a persistent recursive watch on this connection: [Fired] tells of every change of the
// root and of the znodes below it, but not of changed children as such. On the next connection it
// has to be set again.
func (t *Tree) Watch() error {
	_, err := t.conn.one(&request{ask: jute.Request{Op: jute.OpAddWatch, Path: t.root, Flags: recursive}})
	return err
}

// Unwatch removes that watch unless it is needed, by what is asked in the moment in which the place
// of the removal among the requests is fixed. needed must not block. The other watches at the root
// fire, so that who depends on them reads again, with a watch.
func (t *Tree) Unwatch(needed func() bool) error {
	r := &request{ask: jute.Request{Op: jute.OpRemoveWatches, Path: t.root, Kind: anyWatches}}
	r.holds = func() bool { return t.conn.core.roots[t.root] && !needed() }
	return t.conn.do(r)
}

// Probe has the server tell by events what has changed since a transaction: the data of znodes, or
// their children, or that they are gone. Watches that fire once are left at the others. probed is
// called behind the events, with the newest transaction by then. Of the roots of trees that have a
// watch nothing is told: apart is called with those before.
func (t *Tree) Probe(since int64, watches []Watch, apart func(root string), probed func(zxid int64)) error {
	c := t.conn
	for last := false; !last; {
		r := &request{ask: jute.Request{Op: jute.OpSetWatches, Zxid: since}}
		size, taken := 0, 0
		c.core.mu.Lock()
		for _, w := range watches {
			if size += 4 + len(w.Path); size > min(watchBatch, c.core.cfg.MaxPacket/2) && taken > 0 {
				break
			}
			taken++
			switch {
			case c.core.roots[w.Path]:
				apart(w.Path)
			case w.Children:
				r.ask.ChildW = append(r.ask.ChildW, w.Path)
			default:
				r.ask.DataW = append(r.ask.DataW, w.Path)
			}
		}
		c.core.mu.Unlock()
		if last = taken == len(watches); last {
			r.told = func() { probed(r.reply.Zxid) }
		}
		r.holds = func() bool {
			return !slices.ContainsFunc(slices.Concat(r.ask.DataW, r.ask.ChildW), func(p string) bool { return c.core.roots[p] })
		}
		switch _, err := c.one(r); {
		case err == ErrCalledOff: // another tree has come: once more
			last = false
		case err != nil:
			return err
		default:
			watches = watches[taken:]
		}
	}
	return nil
}

// Keep has the watches stay from now on which [Tree.Read] arms, whatever [Conn.Unwatch] is asked.
func (t *Tree) Keep() {
	t.conn.core.mu.Lock()
	defer t.conn.core.mu.Unlock()
	t.conn.core.plain[t.root] = true
}

// keeps tells whether a watch must not be removed, since a tree has armed it too. Under mu.
func (c *core) keeps(at string) bool {
	for ; !c.plain[at]; at = path.Dir(at) {
		if at == "/" {
			return false
		}
	}
	return true
}

// Read does reads, many in a trip unless they are to arm watches: each a getData, a
// getChildren2 or an exists. told is called with each answer, behind the events that came before
// it, with the newest transaction by then: not with a request that an overloaded server has not
// carried out ([ErrThrottled]). An error says that some were not answered.
func (t *Tree) Read(asks []jute.Request, watch bool, told func(ask *jute.Request, r jute.Result, err error, zxid int64)) error {
	c, b := t.conn, treeReads{told: told}
	size := mostReads
	if watch || c.lacks(jute.OpMultiRead) {
		size = 1
	}
	var rs []*request
	for len(asks) > 0 {
		n, bytes := 1, 0
		for ; n < min(size, len(asks)) && bytes < c.core.cfg.MaxPacket/4; n++ {
			bytes += len(asks[n].Path) + readHead
		}
		rs = append(rs, b.request(asks[:n], watch))
		asks = asks[n:]
	}
	if err := c.do(rs...); err != nil {
		return err
	}
	for _, r := range rs {
		if !r.answered.Closed() {
			return r.outcome()
		}
	}
	if b.throttled {
		return ErrThrottled
	}
	for i := range b.apart {
		if err := t.Read(b.apart[i:i+1], watch, told); err != nil {
			return err
		}
	}
	return nil
}

// treeReads are the reads of one [Tree.Read].
type treeReads struct {
	told      func(ask *jute.Request, r jute.Result, err error, zxid int64)
	apart     []jute.Request // that were refused together, and are to be asked one by one
	throttled bool           // some were not carried out
}

func (b *treeReads) request(some []jute.Request, watch bool) *request {
	r := &request{ask: some[0]}
	if len(some) == 1 {
		r.ask.Watch = watch
		r.told = func() {
			b.tell(r, &r.ask, jute.Result{Err: r.reply.Err, Data: r.reply.Data, Names: r.reply.Names, Stat: r.reply.Stat})
		}
		return r
	}
	r.ask = jute.Request{Op: jute.OpMultiRead, Ops: slices.Clone(some)}
	for i := range some {
		if some[i].Op == jute.OpGetChildren2 {
			r.ask.Ops[i].Op = jute.OpGetChildren
		}
	}
	r.told = func() {
		if r.reply.Err != jute.OK || len(r.reply.Results) != len(some) {
			b.apart = append(b.apart, some...)
			return
		}
		for i := range some {
			b.tell(r, &some[i], r.reply.Results[i])
		}
	}
	return r
}

func (b *treeReads) tell(r *request, ask *jute.Request, result jute.Result) {
	if err := r.verdict(ask, result.Err); errors.Is(err, ErrThrottled) {
		b.throttled = true
	} else {
		b.told(ask, result, err, r.reply.Zxid)
	}
}

// root takes the request into account that is about to be written, and changes its frame if there
// is a tree's watch at its path. Under mu.
func (c *core) root(r *request, frame []byte) {
	switch r.ask.Op {
	case jute.OpAddWatch:
		c.roots[r.ask.Path] = true
	case jute.OpRemoveWatches:
		if r.ask.Kind == anyWatches {
			delete(c.roots, r.ask.Path)
		} else if c.roots[r.ask.Path] || c.keeps(r.ask.Path) {
			binary.BigEndian.PutUint32(frame[8:], uint32(jute.OpCheckWatches)) // has the same form, and changes nothing
		}
	default:
		if r.ask.Watch && c.roots[r.ask.Path] {
			frame[len(frame)-1] = 0 // without the watch
		}
	}
}

// rootSettled takes the reply to a request at a tree's root. If there is no such watch any more,
// the others there fire, which may be gone with it. Under mu.
func (c *core) rootSettled(r *request) {
	refused := r.ask.Op == jute.OpAddWatch && r.reply.Err != jute.OK
	if refused {
		delete(c.roots, r.ask.Path)
	}
	if refused || r.ask.Op == jute.OpRemoveWatches && r.ask.Kind == anyWatches {
		c.fireOthers(r.ask.Path, false, jute.NodeDataChanged)
		c.fireOthers(r.ask.Path, true, jute.NodeChildrenChanged)
	}
}

// fireOthers fires a watch that is believed to be armed. Under mu.
func (c *core) fireOthers(at string, children bool, as jute.EventType) {
	if _, armed := c.watches[Watch{at, children}]; armed {
		c.disarm(jute.Event{Path: at, Type: as})
		c.events = append(c.events, Fired{Type: as, Path: at})
	}
}

// fireAbove fires the watch of the children of a tree's root, of which its own watch does not tell.
// Under mu.
func (c *core) fireAbove(ev jute.Event) {
	if above := path.Dir(ev.Path); c.roots[above] && above != ev.Path && (ev.Type == jute.NodeCreated || ev.Type == jute.NodeDeleted) {
		c.fireOthers(above, true, jute.NodeChildrenChanged)
	}
}
