package zkserver

import (
	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/zkserver/tree"
)

func (s *Server) caller(c *conn) tree.Caller {
	return tree.Caller{Session: c.session.id, Who: c.who, IPv6: s.as.ipv6ACL, MaxACL: s.cfg.MaxPacket}
}

// write serves every single write: judged against the tree, numbered whether it fails or not, and
// seen by the client's own front before the answer.
func (s *Server) write(c *conn, q *jute.Request, p *jute.Reply) {
	if q.Malformed() && s.as.readsFirst {
		p.Err = jute.MarshallingError
		return
	}
	change, code := s.prepare(c, q)
	t := &txn{}
	if code == jute.OK {
		t.changes = []tree.Change{change}
	}
	s.commit(t, func(_ int, n *tree.Node) {
		p.Path = change.Path
		if n != nil {
			p.Stat = n.Stat()
		}
	})
	c.front.catchUp()
	p.Err = code
}

func (s *Server) prepare(c *conn, q *jute.Request) (tree.Change, jute.Code) {
	if q.Malformed() {
		return tree.Change{}, jute.MarshallingError
	}
	if s.cfg.NoTTL && ttlMode(q) {
		return tree.Change{}, jute.Unimplemented
	}
	return s.tree.Prepare(s.caller(c), q)
}

func ttlMode(q *jute.Request) bool {
	switch q.Op {
	case jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer, jute.OpCreateTTL:
		return q.Flags == jute.FlagPersistentTTL || q.Flags == jute.FlagPersistentSequentialTTL
	}
	return false
}
