package zkserver

import (
	"slices"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/zkserver/tree"
)

func (s *Server) caller(c *conn) tree.Caller {
	return tree.Caller{Session: c.session.id, Who: c.who, IPv6: s.dialect.ipv6ACL, MaxACL: s.cfg.MaxPacket}
}

// write serves every single write: checked against the tree, numbered whether it fails or not, and
// seen by the client's own front before the answer.
func (s *Server) write(c *conn, q *jute.Request, p *jute.Reply) {
	if q.Malformed() && s.dialect.readsFirst {
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

// ttlMode reports whether a create is, by its flags, of a TTL znode.
func ttlMode(q *jute.Request) bool {
	switch q.Op {
	case jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer, jute.OpCreateTTL:
		return q.Flags == jute.FlagPersistentTTL || q.Flags == jute.FlagPersistentSequentialTTL
	}
	return false
}

// multi is one transaction of several writes: all or none, with one zxid. The reply itself is a
// success either way; the results tell. What can't be read fails as a whole instead, at the
// stage at which the real server stumbles; it uses up a number all the same.
func (s *Server) multi(c *conn, q *jute.Request, p *jute.Reply) {
	defer c.front.catchUp()
	if q.Malformed() || s.dialect.typedMulti && s.unreadable(q.Ops) {
		s.commit(&txn{}, nil)
		p.Err = jute.MarshallingError
		return
	}
	if slices.ContainsFunc(q.Ops, func(part jute.Request) bool { return part.Path == jute.Null }) {
		if s.dialect.readsFirst {
			s.commit(&txn{}, nil)
		} else {
			s.zxid++ // the real server takes a number and then stumbles before anything comes of it
		}
		p.Err = jute.MarshallingError
		return
	}
	plan := s.tree.Plan(s.caller(c))
	p.Results = make([]jute.Result, len(q.Ops))
	for i := range q.Ops {
		part, code := s.part(q.Ops[i])
		if code == jute.OK {
			code = plan.Add(&part)
		}
		switch code {
		case jute.OK:
		case jute.MarshallingError: // the whole fails
			s.commit(&txn{}, nil)
			p.Err, p.Results = code, nil
			return
		default: // this part fails, and so none is applied
			s.commit(&txn{}, nil)
			fail(p.Results, i, code)
			return
		}
		p.Results[i].Op = resultOp(part.Op)
	}
	s.commit(&txn{changes: plan.Changes}, func(i int, n *tree.Node) {
		p.Results[i].Path = plan.Changes[i].Path
		if n != nil {
			p.Results[i].Stat = n.Stat()
		}
	})
}

// unreadable reports whether a part keeps the whole from being read, which comes before any part is
// checked.
func (s *Server) unreadable(ops []jute.Request) bool {
	return slices.ContainsFunc(ops, func(q jute.Request) bool { _, code := s.part(q); return code != jute.OK })
}

// part is the operation that a part of a multi really is, or why the multi can't be read. Where the
// parts keep their operations (typedMulti) a create must have flags that fit it.
func (s *Server) part(q jute.Request) (jute.Request, jute.Code) {
	if !s.dialect.typedMulti {
		q = effective(q)
		if q.Op != jute.OpCreateTTL && ttlMode(&q) {
			return q, jute.MarshallingError // the real server takes it for something that it can't be read as
		}
		return q, jute.OK
	}
	switch q.Op {
	case jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer:
		unknown := q.Flags < jute.FlagPersistent || q.Flags > jute.FlagPersistentSequentialTTL
		if unknown || ttlMode(&q) { // these operations have no TTL
			return q, jute.MarshallingError
		}
		if q.Flags == jute.FlagContainer {
			q.Op = jute.OpCreateContainer
		}
	case jute.OpCreateTTL:
		q = effective(q)
	}
	return q, jute.OK
}

// effective is the operation that a part of a multi is by the flags of a create, not by its number:
// the real server goes by them before typedMulti, and for createTTL since then too.
func effective(q jute.Request) jute.Request {
	switch {
	case q.Op == jute.OpCreateTTL && ttlMode(&q):
	case q.Op == jute.OpCreate, q.Op == jute.OpCreate2, q.Op == jute.OpCreateContainer, q.Op == jute.OpCreateTTL:
		q.Op, q.TTL = jute.OpCreate, -1
		if q.Flags == jute.FlagContainer {
			q.Op = jute.OpCreateContainer
		}
	}
	return q
}

// resultOp is the operation that the result of a part names: the one whose answer has its form.
func resultOp(op jute.Op) jute.Op {
	if op == jute.OpCreateContainer || op == jute.OpCreateTTL {
		return jute.OpCreate2
	}
	return op
}

// fail marks the i-th operation as the one that failed: those before it would have been fine, those
// after it were not tried.
func fail(results []jute.Result, failed int, code jute.Code) {
	for i := range results {
		results[i] = jute.Result{Op: jute.OpError}
		switch {
		case i == failed:
			results[i].Err = code
		case i > failed:
			results[i].Err = jute.RuntimeInconsistency
		}
	}
}
