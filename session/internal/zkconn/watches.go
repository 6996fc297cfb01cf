package zkconn

import "github.com/troupe-go/troupe/internal/jute"

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

func (w Watch) kind() int32 {
	if w.Children {
		return childWatches
	}
	return dataWatches
}

// arm adds the watch that a read has armed. A read of the data or the children of a missing znode
// arms none. Under mu.
func (c *core) arm(r *request) {
	switch {
	case r.reply.Err == jute.OK:
		c.watches[Watch{r.ask.Path, r.ask.Op == jute.OpGetChildren2}] = false
	case r.reply.Err == jute.NoNode && r.ask.Op == jute.OpExists:
		c.watches[Watch{Path: r.ask.Path}] = true
	}
}

// disarm removes the watches that an event disarms. Under mu.
func (c *core) disarm(ev jute.Event) {
	data, children := Watch{Path: ev.Path}, Watch{Path: ev.Path, Children: true}
	switch ev.Type {
	case jute.NodeCreated, jute.NodeDataChanged:
		delete(c.watches, data)
	case jute.NodeChildrenChanged:
		delete(c.watches, children)
	case jute.NodeDeleted:
		delete(c.watches, data)
		delete(c.watches, children)
	}
}

// watchBatch is the largest size of a setWatches request. The server handles one between two pings.
const watchBatch = 128 << 10

// setWatches returns the requests that arm watches again. The server at once fires those whose
// znodes have changed since a transaction.
func (c *core) setWatches(since int64, watches map[Watch]bool) []jute.Request {
	var asks []jute.Request
	batch := min(watchBatch, c.cfg.MaxPacket/2)
	size := batch
	for w, missing := range watches {
		if size+4+len(w.Path) > batch {
			asks = append(asks, jute.Request{Xid: jute.XidSetWatches, Op: jute.OpSetWatches, Zxid: since})
			size = 0
		}
		size += 4 + len(w.Path)
		ask := &asks[len(asks)-1]
		switch {
		case w.Children:
			ask.ChildW = append(ask.ChildW, w.Path)
		case missing:
			ask.ExistW = append(ask.ExistW, w.Path)
		default:
			ask.DataW = append(ask.DataW, w.Path)
		}
	}
	return asks
}

// Unwatch removes watches. nil: they are removed, or end with the connection, and are not armed
// again; an event that was on its way comes before Unwatch returns. [ErrNotSent] and [ErrEnded]:
// nothing was done. [ErrUnsupported]: nothing was done, since the servers lack the operation.
func (c *Conn) Unwatch(watches []Watch) error {
	if asked, err := c.unwatchLocally(watches); asked {
		return err
	}
	rs := make([]*request, len(watches))
	for i, w := range watches {
		rs[i] = &request{ask: jute.Request{Op: jute.OpRemoveWatches, Path: w.Path, Kind: w.kind()}}
	}
	return c.do(rs...) // also if one fails, the watches are removed, have fired, or end with the connection
}

// unwatchLocally handles what needs no request. Without a connection no watch is armed; it suffices
// not to arm these again.
func (c *Conn) unwatchLocally(watches []Watch) (done bool, err error) {
	c.core.mu.Lock()
	defer c.core.mu.Unlock()
	switch {
	case c.core.over():
		return true, ErrEnded
	case c.core.lacking[jute.OpRemoveWatches]:
		return true, ErrUnsupported
	case c.core.socket != nil:
		return false, nil
	}
	for _, w := range watches {
		delete(c.core.watches, w)
	}
	return true, nil
}

// Watches tells whether a watch is armed, by what was received so far.
func (c *Conn) Watches(w Watch) bool {
	c.core.mu.Lock()
	defer c.core.mu.Unlock()
	_, armed := c.core.watches[w]
	return armed
}
