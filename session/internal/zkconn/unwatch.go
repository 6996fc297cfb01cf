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
	if err := c.do(rs...); err != nil {
		return err
	}
	c.learn(&c.removals, rs[0].outcome()) // with any other error, the watch has fired or ends with the connection
	return nil
}

// unwatchLocally handles what needs no request. Without a connection no watch is armed; it suffices
// not to arm these again.
func (c *Conn) unwatchLocally(watches []Watch) (done bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.over():
		return true, ErrEnded
	case c.removals.lacking():
		return true, ErrUnsupported
	case c.dialed != nil:
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
