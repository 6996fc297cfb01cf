package zkserver

import (
	"strings"

	"github.com/troupe-go/troupe/internal/jute"
)

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

// deleteContainer is the server's own business: it keeps the path as text and nothing else, which a
// client's request isn't. A later server takes the request for one that can't be read.
func (s *Server) deleteContainer(c *conn, _ *jute.Request, p *jute.Reply) {
	if s.as.readsFirst {
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
