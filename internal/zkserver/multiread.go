package zkserver

import "github.com/troupe-go/troupe/internal/jute"

// multiRead is several reads in one request, each with its own outcome. They leave no watches.
func (s *Server) multiRead(c *conn, q *jute.Request, p *jute.Reply) {
	if q.Malformed() {
		p.Err = jute.MarshallingError
		return
	}
	for i := range q.Ops {
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
		r := jute.Result{Op: part.Op, Data: one.Data, Stat: one.Stat, Names: one.Names}
		if one.Err != jute.OK {
			r = jute.Result{Op: jute.OpError, Err: one.Err}
		}
		p.Results = append(p.Results, r)
	}
}
