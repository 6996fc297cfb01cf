package zkconn

import "github.com/troupe-go/troupe/internal/jute"

// Watch is one that reads have armed: of a znode's children, or else of its data, its end and its
// birth, which servers keep as one.
type Watch struct {
	Path     string
	Children bool
}

// The kinds of watches that a removal names; ZooKeeper's WatcherType.
const (
	childWatches int32 = 1
	dataWatches  int32 = 2
)

// Unwatch removes watches. nil: they are gone, or go with the connection, and are not armed again;
// an event that was on its way comes before Unwatch returns. [ErrNotSent] and [ErrEnded]: nothing
// was done. [ErrUnsupported]: nothing was done, since the servers are known not to have this
// operation, which came with ZooKeeper 3.5. A removal whose answer was lost is not repeated, so
// that a server that hangs up at it does so twice at most.
func (c *Conn) Unwatch(watches []Watch) error {
	if asked, err := c.unwatchAlone(watches); asked {
		return err
	}
	rs := make([]*request, len(watches))
	for i, w := range watches {
		rs[i] = &request{ask: jute.Request{Op: jute.OpRemoveWatches, Path: w.Path, Kind: w.kind()}}
	}
	if err := c.do(rs...); err != nil {
		return err
	}
	c.learn(&c.removals, rs[0].outcome()) // every other outcome is as good as the removal: the watch has fired, or goes with the connection
	return nil
}

// unwatchAlone does what needs no server: a connection that does not exist has no watches, and the
// next one will not have these.
func (c *Conn) unwatchAlone(watches []Watch) (done bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closing || c.cause != nil:
		return true, ErrEnded
	case c.removals.lacking:
		return true, ErrUnsupported
	case c.dialed != nil:
		return false, nil
	}
	for _, w := range watches {
		c.watches.remove(w.Path, w.kind())
	}
	return true, nil
}

// Watches tells whether a watch was armed and has not fired since, by the order of the wire.
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
