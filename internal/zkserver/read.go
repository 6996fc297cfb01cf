package zkserver

import (
	"strings"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/zkserver/tree"
	"github.com/troupe-go/troupe/internal/zkserver/watch"
)

// readable finds the node that a read is about, as this connection's front shows it.
func (c *conn) readable(q *jute.Request, perm jute.Perms) (*tree.Node, jute.Code) {
	if q.Malformed() || q.Path == jute.Null {
		return nil, jute.MarshallingError
	}
	n := c.front.tree.Get(q.Path)
	if n == nil {
		return nil, jute.NoNode
	}
	if !tree.Allowed(n.ACL(), perm, c.who) {
		return nil, jute.NoAuth
	}
	return n, jute.OK
}

// exists leaves its watch also where there is no node. Whether it needs a permission where there is
// one depends on the version.
func (s *Server) exists(c *conn, q *jute.Request, p *jute.Reply) {
	switch {
	case q.Malformed() || q.Path == jute.Null:
		p.Err = jute.MarshallingError
		return
	case strings.IndexByte(q.Path, 0) >= 0:
		p.Err = jute.BadArguments
		return
	}
	n := c.front.tree.Get(q.Path)
	if n != nil && s.as.existsNeedsRead && !tree.Allowed(n.ACL(), jute.PermRead, c.who) {
		p.Err = jute.NoAuth
		return
	}
	if q.Watch {
		c.front.data.Add(q.Path, c, watch.Once)
	}
	if n == nil {
		p.Err = jute.NoNode
		return
	}
	p.Stat = n.Stat()
}

func (s *Server) getData(c *conn, q *jute.Request, p *jute.Reply) {
	n, code := c.readable(q, jute.PermRead)
	if p.Err = code; code != jute.OK {
		return
	}
	if q.Watch {
		c.front.data.Add(q.Path, c, watch.Once)
	}
	p.Data, p.Stat = n.Data(), n.Stat()
}

// getChildren serves both forms: with the stat and without.
func (s *Server) getChildren(c *conn, q *jute.Request, p *jute.Reply) {
	n, code := c.readable(q, jute.PermRead)
	if p.Err = code; code != jute.OK {
		return
	}
	if q.Watch {
		c.front.child.Add(q.Path, c, watch.Once)
	}
	p.Names = make([]string, 0, n.NumChildren())
	n.Children(func(child *tree.Node) {
		p.Names = append(p.Names, child.Name())
	})
	p.Stat = n.Stat()
}

// getACL shows digests only to those who may change them.
func (s *Server) getACL(c *conn, q *jute.Request, p *jute.Reply) {
	n, code := c.readable(q, jute.PermRead|jute.PermAdmin)
	if p.Err = code; code != jute.OK {
		return
	}
	p.Stat, p.ACL = n.Stat(), n.ACL()
	if tree.Allowed(n.ACL(), jute.PermAdmin, c.who) {
		return
	}
	p.ACL = make([]jute.ACL, len(n.ACL()))
	for i, a := range n.ACL() {
		if user, _, found := strings.Cut(a.ID, ":"); found && a.Scheme == "digest" {
			a.ID = user + ":x"
		}
		p.ACL[i] = a
	}
}

// sync makes everything visible that was committed before it, but at the leader: see hear.
func (s *Server) sync(c *conn, q *jute.Request, p *jute.Reply) {
	if q.Malformed() {
		p.Err = jute.MarshallingError
		return
	}
	c.front.hear()
	p.Path = q.Path
}
