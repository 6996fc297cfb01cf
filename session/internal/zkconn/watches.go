package zkconn

import (
	"slices"

	"github.com/troupe-go/troupe/internal/jute"
)

// watchTable is the set of armed watches, which have to be armed again on the next connection.
type watchTable map[watched]struct{}

type watched struct {
	kind watchKind
	path string
}

type watchKind int

const (
	watchData     watchKind = iota // of an existing znode
	watchExists                    // of a missing one
	watchChildren                  // the children of an existing one
	watchKinds
)

// arm adds the watch that a read has armed. A read of the data or the children of a missing znode
// arms none.
func (t watchTable) arm(r *request) {
	switch {
	case r.reply.Err == jute.OK && r.ask.Op == jute.OpGetChildren2:
		t[watched{watchChildren, r.ask.Path}] = struct{}{}
	case r.reply.Err == jute.OK:
		t[watched{watchData, r.ask.Path}] = struct{}{}
	case r.reply.Err == jute.NoNode && r.ask.Op == jute.OpExists:
		t[watched{watchExists, r.ask.Path}] = struct{}{}
	}
}

// fired removes the watches that an event disarms.
func (t watchTable) fired(ev jute.Event) {
	switch ev.Type {
	case jute.NodeCreated, jute.NodeDataChanged:
		delete(t, watched{watchData, ev.Path})
		delete(t, watched{watchExists, ev.Path})
	case jute.NodeChildrenChanged:
		delete(t, watched{watchChildren, ev.Path})
	case jute.NodeDeleted:
		for kind := range watchKinds {
			delete(t, watched{kind, ev.Path})
		}
	}
}

// remove is called when a request to remove watches is about to be sent. Whatever its outcome, they
// are not armed again.
func (t watchTable) remove(path string, kind int32) {
	for _, k := range watchesOf(kind) {
		delete(t, watched{k, path})
	}
}

func (t watchTable) has(path string, kind int32) bool {
	return slices.ContainsFunc(watchesOf(kind), func(k watchKind) bool {
		_, has := t[watched{k, path}]
		return has
	})
}

// watchesOf are the entries that belong to one of the server's kinds.
func watchesOf(kind int32) []watchKind {
	if kind == childWatches {
		return []watchKind{watchChildren}
	}
	return []watchKind{watchData, watchExists}
}

// watchBatch is the largest size of a setWatches request. The server handles one between two pings.
const watchBatch = 128 << 10

// requests are the setWatches requests that arm everything again. The server fires at once what has
// changed since the zxid.
func (t watchTable) requests(zxid int64, maxPacket int) []jute.Request {
	var asks []jute.Request
	batch := min(watchBatch, maxPacket/2)
	size := batch
	for w := range t {
		if size+4+len(w.path) > batch {
			asks = append(asks, jute.Request{Xid: jute.XidSetWatches, Op: jute.OpSetWatches, Zxid: zxid})
			size = 0
		}
		size += 4 + len(w.path)
		ask := &asks[len(asks)-1]
		switch w.kind {
		case watchData:
			ask.DataW = append(ask.DataW, w.path)
		case watchExists:
			ask.ExistW = append(ask.ExistW, w.path)
		case watchChildren:
			ask.ChildW = append(ask.ChildW, w.path)
		}
	}
	return asks
}

// Watch is a watch that a read has armed: of a znode's children, or else of its data, creation and
// deletion.
type Watch struct {
	Path     string
	Children bool
}

// The kinds of watches that a removal names; ZooKeeper's WatcherType.
const (
	childWatches int32 = 1
	dataWatches  int32 = 2
)

// Unwatch removes watches. nil: they are removed, or end with the connection, and are not armed
// again; an event that was on its way comes before Unwatch returns. [ErrNotSent] and [ErrEnded]:
// nothing was done. [ErrUnsupported]: nothing was done, since the servers lack the operation, which
// ZooKeeper has since 3.5. It is not repeated if the reply is lost, so a server that hangs up at it
// does so at most twice.
func (c *Conn) Unwatch(watches []Watch) error {
	if asked, err := c.unwatchLocally(watches); asked {
		return err
	}
	rs := make([]*request, len(watches))
	for i, w := range watches {
		rs[i] = &request{ask: jute.Request{Op: jute.OpRemoveWatches, Path: w.Path, Kind: w.kind()}}
	}
	return c.do(rs...) // whatever the outcome, the watches are removed, have fired, or end with the connection
}

// unwatchLocally handles what needs no request. Without a connection no watch is armed; it suffices
// not to arm these again.
func (c *Conn) unwatchLocally(watches []Watch) (done bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.over():
		return true, ErrEnded
	case c.operations.lacks(jute.OpRemoveWatches):
		return true, ErrUnsupported
	case c.wire != nil:
		return false, nil
	}
	for _, w := range watches {
		c.watches.remove(w.Path, w.kind())
	}
	return true, nil
}

// Watches tells whether a watch is armed, by what was received so far.
func (c *Conn) Watches(w Watch) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.watches.has(w.Path, w.kind())
}

func (w Watch) kind() int32 {
	if w.Children {
		return childWatches
	}
	return dataWatches
}
