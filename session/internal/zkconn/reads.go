package zkconn

import "github.com/troupe-go/troupe/internal/jute"

// The requests block until the answer comes or the connection goes, and report one of the errors of
// this package.

// Get reads a znode's data and, with watch, arms a watch that fires at NodeDataChanged or
// NodeDeleted. A missing znode arms nothing.
func (c *Conn) Get(path string, watch bool) ([]byte, Stat, error) {
	reply, err := c.one(reading(jute.OpGetData, path, watch))
	return reply.Data, fromWire(&reply.Stat), err
}

// Exists looks whether a znode exists and, with watch, arms a watch: on an existing one as Get
// does, on a missing one it fires at NodeCreated.
func (c *Conn) Exists(path string, watch bool) (stat Stat, exists bool, err error) {
	reply, err := c.one(reading(jute.OpExists, path, watch))
	switch err {
	case nil:
		return fromWire(&reply.Stat), true, nil
	case ErrNoNode:
		return Stat{}, false, nil
	default:
		return Stat{}, false, err
	}
}

// Children lists the names of a znode's children, in no order, and, with watch, arms a watch that
// fires at NodeChildrenChanged or NodeDeleted. A missing znode arms nothing.
func (c *Conn) Children(path string, watch bool) ([]string, Stat, error) {
	reply, err := c.one(reading(jute.OpGetChildren2, path, watch))
	return reply.Names, fromWire(&reply.Stat), err
}

// Ephemerals are the paths of the session's own ephemeral znodes that begin with prefix. No ACL is
// looked at. Servers before 3.6 do not know this request.
func (c *Conn) Ephemerals(prefix string) ([]string, error) {
	reply, err := c.one(reading(jute.OpGetEphemerals, prefix, false))
	return reply.Names, err
}

// GetACL reads a znode's ACL.
func (c *Conn) GetACL(path string) ([]jute.ACL, Stat, error) {
	reply, err := c.one(reading(jute.OpGetACL, path, false))
	return reply.ACL, fromWire(&reply.Stat), err
}

// Sync waits until the server has seen all that the leader had when it was asked. The leader
// answers by itself, and need not have carried out what followers have: see [Conn.Prove].
func (c *Conn) Sync(path string) error {
	r := reading(jute.OpSync, path, false)
	r.probe = true
	_, err := c.one(r)
	return err
}

func reading(op jute.Op, path string, watch bool) *request {
	return &request{ask: jute.Request{Op: op, Path: path, Watch: watch}}
}
