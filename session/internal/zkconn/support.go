package zkconn

import (
	"errors"

	"github.com/troupe-go/troupe/internal/jute"
)

// support is what is known of the servers' support of an operation. Servers that lack it reply with
// Unimplemented, or just hang up.
type support struct {
	known bool // a request was answered
	told  bool // with Unimplemented
	lost  int  // requests at which servers hung up
}

// lostLimit is how many requests may be lost before the servers are taken to lack the operation, if
// none was answered.
const lostLimit = 2

// learn takes the outcome of a request that was sent.
func (s *support) learn(err error) {
	switch {
	case errors.Is(err, ErrUnsupported):
		s.told = true
	case errors.Is(err, ErrCutOff) && !errors.Is(err, ErrCutOffUsual):
		s.lost++
	case !errors.Is(err, ErrNoReply):
		s.known = true
	}
}

// lacking: the operation is not sent any more.
func (s *support) lacking() bool { return s.told || !s.known && s.lost >= lostLimit }

// surely is lacking where a mistake would last: one more was lost, which was alone.
func (s *support) surely() bool { return s.told || !s.known && s.lost > lostLimit }

// learn is support's, for one of the Conn's operations.
func (c *Conn) learn(about *support, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	about.learn(err)
}

// lacks tells whether the servers are known to lack an operation.
func (c *Conn) lacks(operation *support) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return operation.lacking()
}

// createOp is how a znode is created: by create2, which replies with the znode's Stat, if the
// servers have it. ZooKeeper has it since 3.5. In a transaction its Stat is empty, at least in 3.8.
func (c *Conn) createOp() jute.Op {
	if c.lacks(&c.create2) {
		return jute.OpCreate
	}
	return jute.OpCreate2
}

// lacksContainers tells whether the servers lack containers. The network may be why requests were
// lost, and a parent that is made persistent instead stays for ever. So where servers hung up, they
// are asked for create2 as well, until that is answered or surely lacking: those that have it have
// containers.
func (c *Conn) lacksContainers() bool {
	if !c.lacks(&c.containers) {
		return false
	}
	sure, known := c.oldServers()
	if !sure && !known {
		c.askCreate2()
		sure, known = c.oldServers()
	}
	if known && !sure {
		c.mu.Lock()
		c.containers = support{}
		c.mu.Unlock()
	}
	return sure
}

// oldServers tells whether the servers surely lack containers, or create2, and whether that was
// answered.
func (c *Conn) oldServers() (sure, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.containers.told || c.create2.surely(), c.create2.known
}

// askCreate2 sends a create2 that a server refuses, since the root exists.
func (c *Conn) askCreate2() {
	r := &request{ask: jute.Request{Op: jute.OpCreate2, Path: "/", Data: []byte{}, ACL: jute.OpenACL()}}
	if err := c.Alone().do(r); err == nil {
		c.learn(&c.create2, r.outcome())
	}
}
