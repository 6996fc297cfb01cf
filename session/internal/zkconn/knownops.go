package zkconn

import "github.com/troupe-go/troupe/internal/jute"

// knownOps is which kinds of requests servers are known to answer: those that were answered, and those
// that every ZooKeeper since 3.4 knows. They hang up at what they don't know and at what is too
// large. Under the Conn's mu.
type knownOps struct{ alone, parts map[jute.Op]bool }

func newKnownOps() knownOps {
	u := knownOps{map[jute.Op]bool{}, map[jute.Op]bool{}}
	for _, op := range []jute.Op{
		jute.OpCreate, jute.OpDelete, jute.OpExists, jute.OpGetData, jute.OpSetData, jute.OpGetACL, jute.OpSetACL, jute.OpGetChildren, jute.OpGetChildren2,
		jute.OpSync, jute.OpMulti,
	} {
		u.alone[op] = true
	}
	for _, op := range []jute.Op{jute.OpCreate, jute.OpDelete, jute.OpSetData, jute.OpCheck} {
		u.parts[op] = true
	}
	return u
}

// took notes a request that was answered. Servers that have create2 have containers.
func (u knownOps) took(r *request) {
	if !u.alone[r.ask.Op] {
		u.alone[r.ask.Op] = true
		u.alone[jute.OpCreateContainer] = u.alone[jute.OpCreateContainer] || r.ask.Op == jute.OpCreate2
	}
	for i := range r.ask.Ops {
		if part := r.ask.Ops[i].Op; !u.parts[part] {
			u.parts[part] = true
		}
	}
}

// is tells whether a request is of a kind that is answered; size is that of the largest that was.
func (u knownOps) is(r *request, size int) bool {
	if r.size > max(smallEnough, size) || !u.alone[r.ask.Op] {
		return false
	}
	for i := range r.ask.Ops {
		if !u.parts[r.ask.Ops[i].Op] {
			return false
		}
	}
	return true
}
