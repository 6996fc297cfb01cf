package link

import (
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/troupe-go/troupe/internal/jute"
)

// The requests block until the answer comes or the connection goes, and report one of the errors of
// this package. A request that is just being handed over when the connection goes is sent first of
// all on the next one, and blocks until then; there is at most one such.

// Get reads a znode's data and, with watch, arms a watch that fires at NodeDataChanged or
// NodeDeleted. A missing znode arms nothing.
func (c *Conn) Get(path string, watch bool) ([]byte, Stat, error) {
	r := reading(jute.OpGetData, path, watch)
	if err := c.direct(r); err != nil {
		return nil, Stat{}, err
	}
	return r.reply.Data, fromWire(&r.reply.Stat), nil
}

// Exists looks whether a znode exists and, with watch, arms a watch: on an existing one as Get
// does, on a missing one it fires at NodeCreated.
func (c *Conn) Exists(path string, watch bool) (stat Stat, exists bool, err error) {
	var found *zk.Stat
	err = c.ask(reading(jute.OpExists, path, watch), func() (err error) {
		exists, found, err = c.zk.Exists(path)
		return err
	})
	if err != nil || !exists {
		return Stat{}, false, err
	}
	return fromStat(found), true, nil
}

// Children lists the names of a znode's children, in no order, and, with watch, arms a watch that
// fires at NodeChildrenChanged or NodeDeleted. A missing znode arms nothing.
func (c *Conn) Children(path string, watch bool) ([]string, Stat, error) {
	r := reading(jute.OpGetChildren2, path, watch)
	if err := c.direct(r); err != nil {
		return nil, Stat{}, err
	}
	return r.reply.Names, fromWire(&r.reply.Stat), nil
}

// Ephemerals are the paths of the session's own ephemeral znodes that begin with prefix. No ACL is
// looked at. Servers before 3.6 do not know this request.
func (c *Conn) Ephemerals(prefix string) ([]string, error) {
	r := &request{op: jute.OpGetEphemerals, path: prefix, size: sizeHeader + sizeText(prefix)}
	if err := c.direct(r); err != nil {
		return nil, err
	}
	return r.reply.Names, nil
}

// GetACL reads a znode's ACL.
func (c *Conn) GetACL(path string) ([]ACL, Stat, error) {
	var acl []zk.ACL
	var stat *zk.Stat
	r := &request{op: jute.OpGetACL, path: path, size: sizeHeader + sizeText(path)}
	err := c.ask(r, func() (err error) {
		acl, stat, err = c.zk.GetACL(path)
		return err
	})
	if err != nil {
		return nil, Stat{}, err
	}
	return fromACL(acl), fromStat(stat), nil
}

// Sync waits until the server has seen all that the leader had when it was asked; what is read
// after it is at least as new.
func (c *Conn) Sync(path string) error {
	r := &request{op: jute.OpSync, path: path, size: sizeHeader + sizeText(path), sign: true}
	return c.ask(r, func() error {
		_, err := c.zk.Sync(path)
		return err
	})
}

func reading(op jute.Op, path string, watch bool) *request {
	return &request{op: op, path: path, watch: watch, size: sizeHeader + sizeText(path) + sizeFlag}
}

func fromStat(s *zk.Stat) Stat {
	if s == nil {
		return Stat{}
	}
	return Stat{
		Czxid: s.Czxid, Mzxid: s.Mzxid, Pzxid: s.Pzxid,
		Ctime: time.UnixMilli(s.Ctime), Mtime: time.UnixMilli(s.Mtime),
		Version: s.Version, Cversion: s.Cversion, Aversion: s.Aversion,
		EphemeralOwner: s.EphemeralOwner, DataLength: s.DataLength, NumChildren: s.NumChildren,
	}
}
