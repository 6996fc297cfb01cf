package zkserver

import (
	"strings"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/zkserver/tree"
	"github.com/troupe-go/troupe/internal/zkserver/watch"
)

// readable finds the node that a read is about, as this connection's front shows it.
func (c *conn) readable(q *jute.Request, perm int32) (*tree.Node, jute.Code) {
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
	if n != nil && s.dialect.existsNeedsRead && !tree.Allowed(n.ACL(), jute.PermRead, c.who) {
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

// sync makes everything visible that was committed before it, but not always at the leader: see
// catchUpIfFollower.
func (s *Server) sync(c *conn, q *jute.Request, p *jute.Reply) {
	if q.Malformed() {
		p.Err = jute.MarshallingError
		return
	}
	c.front.catchUpIfFollower()
	p.Path = q.Path
}

// multiRead is several reads in one request, each with its own outcome. They leave no watches. At
// sixteen times the largest packet it ends the connection: a few bytes could ask for any amount.
func (s *Server) multiRead(c *conn, q *jute.Request, p *jute.Reply) {
	if q.Malformed() {
		p.Err = jute.MarshallingError
		return
	}
	size := 0
	for i := range q.Ops {
		if size > 16*s.cfg.MaxPacket {
			c.abort()
			return
		}
		part := &q.Ops[i]
		part.Watch = false
		var one jute.Reply
		switch part.Op {
		case jute.OpGetData:
			s.getData(c, part, &one)
		case jute.OpGetChildren:
			s.getChildren(c, part, &one)
		default:
			one.Err = jute.MarshallingError
		}
		if one.Err == jute.MarshallingError {
			p.Err, p.Results = one.Err, nil
			return
		}
		size += len(one.Data)
		for _, name := range one.Names {
			size += len(name)
		}
		r := jute.Result{Op: part.Op, Data: one.Data, Stat: one.Stat, Names: one.Names}
		if one.Err != jute.OK {
			r = jute.Result{Op: jute.OpError, Err: one.Err}
		}
		p.Results = append(p.Results, r)
	}
}

// getEphemerals lists the session's own ephemerals whose paths begin with a prefix.
func (s *Server) getEphemerals(c *conn, q *jute.Request, p *jute.Reply) {
	if q.Malformed() {
		p.Err = jute.MarshallingError
		return
	}
	prefix := strings.TrimFunc(q.Path, func(c rune) bool { return c <= ' ' }) // what Java calls white space
	p.Names = []string{}
	for _, path := range c.front.tree.Ephemerals(c.session.id) {
		if q.Path == jute.Null || prefix == "" || prefix == "/" || strings.HasPrefix(path, q.Path) {
			p.Names = append(p.Names, path)
		}
	}
}

// countChildren counts everything below a path.
func (s *Server) countChildren(c *conn, q *jute.Request, p *jute.Reply) {
	_, code := c.readable(q, jute.PermRead)
	if p.Err = code; code != jute.OK {
		return
	}
	p.Count = int32(c.front.tree.CountBelow(q.Path))
	if q.Path == "" { // the root's other name, under which the real server finds "/" below it
		p.Count++
	}
}

// whoAmI tells who the connection is: the address that it comes from, and the users that it has
// authenticated as.
func (s *Server) whoAmI(c *conn, _ *jute.Request, p *jute.Reply) {
	for _, id := range c.who.IDs() {
		if id.Scheme == "digest" {
			id.ID, _, _ = strings.Cut(id.ID, ":")
		}
		p.Identity = append(p.Identity, id)
	}
}

// reconfig is for ensembles whose administrator has turned it on.
func (s *Server) reconfig(c *conn, q *jute.Request, p *jute.Reply) {
	if q.Malformed() {
		p.Err = jute.MarshallingError
		return
	}
	s.refuse(c, p, jute.ReconfigDisabled)
}

// deleteContainer is the server's own business, for which it makes requests of another form. So a
// client's request is refused up to 3.8, and in 3.9.2 it is one that can't be read, which gets no
// number. Later versions don't come here: dispatch hangs up (noLoneReaping).
func (s *Server) deleteContainer(c *conn, _ *jute.Request, p *jute.Reply) {
	if s.dialect.readsFirst {
		p.Err = jute.MarshallingError
		return
	}
	s.refuse(c, p, jute.BadArguments)
}

// refuse fails a write, which uses up a zxid.
func (s *Server) refuse(c *conn, p *jute.Reply, code jute.Code) {
	s.commit(&txn{}, nil)
	c.front.catchUp()
	p.Err = code
}
