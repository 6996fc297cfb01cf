package zkconn

import "github.com/troupe-go/troupe/internal/jute"

// knownOps are the operations that servers are known to answer, alone and within a transaction:
// those that were answered, and those that every ZooKeeper since 3.4 has. Servers hang up at an
// operation that they don't know. Under the Conn's mu.
type knownOps struct{ alone, parts map[jute.Op]bool }

func newKnownOps() knownOps {
	k := knownOps{map[jute.Op]bool{}, map[jute.Op]bool{}}
	for _, op := range []jute.Op{
		jute.OpCreate, jute.OpDelete, jute.OpExists, jute.OpGetData, jute.OpSetData, jute.OpGetACL, jute.OpSetACL, jute.OpGetChildren, jute.OpGetChildren2,
		jute.OpSync, jute.OpMulti,
	} {
		k.alone[op] = true
	}
	for _, op := range []jute.Op{jute.OpCreate, jute.OpDelete, jute.OpSetData, jute.OpCheck} {
		k.parts[op] = true
	}
	return k
}

// took notes a request that was answered, other than that the server lacks it. Servers that have
// create2 have containers.
func (k knownOps) took(r *request) {
	if r.reply.Err == jute.Unimplemented {
		return
	}
	if !k.alone[r.ask.Op] {
		k.alone[r.ask.Op] = true
		k.alone[jute.OpCreateContainer] = k.alone[jute.OpCreateContainer] || r.ask.Op == jute.OpCreate2
	}
	for i := range r.ask.Ops {
		if part := r.ask.Ops[i].Op; !k.parts[part] {
			k.parts[part] = true
		}
	}
}

// has tells whether all operations of a request are known.
func (k knownOps) has(r *request) bool {
	for i := range r.ask.Ops {
		if !k.parts[r.ask.Ops[i].Op] {
			return false
		}
	}
	return k.alone[r.ask.Op]
}
