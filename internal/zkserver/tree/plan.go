package tree

import (
	"strings"

	"github.com/troupe-go/troupe/internal/jute"
)

// Caller is the client on whose behalf a request is checked.
type Caller struct {
	Session int64
	Who     *Who // nil: there is none

	IPv6 bool // an ACL may name IPv6 addresses

	MaxACL int // how many bytes the ACLs of a transaction may have, written out; 0: any number
}

// record has the facts about a node that the check of a write needs: of the tree, or as the parts
// of the same multi before it leave it.
type record struct {
	exists    bool
	version   int32
	aversion  int32
	creations int32
	children  int
	owner     int64
	acl       []jute.ACL
}

// Plan checks the writes of one transaction, each on top of the ones before it.
type Plan struct {
	tree    *Tree
	caller  Caller
	overlay map[string]record // the nodes that the parts so far change; nil: there is one part only
	acls    int               // bytes of the ACLs so far
	Changes []Change
}

// Plan begins a transaction of one or more writes.
func (t *Tree) Plan(caller Caller) *Plan { return &Plan{tree: t, caller: caller} }

// Prepare checks a single write.
func (t *Tree) Prepare(caller Caller, q *jute.Request) (Change, jute.Code) {
	p := Plan{tree: t, caller: caller}
	return p.decide(q)
}

// Add checks one more write of the transaction.
func (p *Plan) Add(q *jute.Request) jute.Code {
	if p.overlay == nil {
		p.overlay = make(map[string]record)
	}
	c, code := p.decide(q)
	if code == jute.OK {
		p.Changes = append(p.Changes, c)
	}
	return code
}

// decide checks a write. Each kind has its checks in the order of the real server, which decides on
// the error of a request that has several faults.
func (p *Plan) decide(q *jute.Request) (Change, jute.Code) {
	checksPath := q.Op == jute.OpSetData || q.Op == jute.OpSetACL || q.Op == jute.OpCheck
	if q.Path == jute.Null && !checksPath { // those answer BadArguments: null is no path
		return Change{}, jute.MarshallingError
	}
	switch q.Op {
	case jute.OpCreate, jute.OpCreate2, jute.OpCreateContainer, jute.OpCreateTTL:
		return p.create(q)
	case jute.OpDelete:
		return p.delete(q)
	case jute.OpDeleteContainer:
		return p.reap(q)
	case jute.OpSetData:
		return p.setData(q)
	case jute.OpSetACL:
		return p.setACL(q)
	case jute.OpCheck:
		return p.check(q)
	}
	return Change{}, jute.MarshallingError
}

// Exists reports whether there is a node at a path, as the parts of the transaction so far leave
// it.
func (p *Plan) Exists(path string) bool { return p.record(path).exists }

// record is the state of a node after the parts so far.
func (p *Plan) record(path string) record {
	if r, ok := p.overlay[path]; ok {
		return r
	}
	n := p.tree.nodes[path]
	if n == nil {
		return record{}
	}
	return record{
		exists: true, version: n.version, aversion: n.aversion, creations: n.creations,
		children: len(n.children), owner: n.owner, acl: n.acl,
	}
}

// put keeps what a change does, for the parts of a multi that come after it.
func (p *Plan) put(path string, r record) {
	if p.overlay != nil {
		p.overlay[path] = r
	}
}

func (p *Plan) allowed(acl []jute.ACL, perm int32) bool { return Allowed(acl, perm, p.caller.Who) }

// Valid reports whether a path is one by ZooKeeper's rules: absolute, no trailing slash, no empty,
// "." or ".." part, no characters that it refuses.
func Valid(path string) bool {
	if path == "" || path[0] != '/' {
		return false
	}
	if path == "/" {
		return true
	}
	for part := range strings.SplitSeq(path[1:], "/") {
		if part == "" || part == "." || part == ".." {
			return false
		}
	}
	for _, c := range path {
		if refused(c) {
			return false
		}
	}
	return true
}

// refused: control characters, private use, surrogates and specials. Those beyond 16 bits are
// surrogate pairs to the real server, and so refused too.
func refused(c rune) bool {
	return c <= 0x1f || c >= 0x7f && c <= 0x9f || c >= 0xd800 && c <= 0xf8ff || c >= 0xfff0
}
