package tree

import (
	"math"
	"strings"

	"github.com/troupe-go/troupe/internal/jute"
)

func (p *Plan) setData(q *jute.Request) (Change, jute.Code) {
	n, code := p.versioned(q, jute.PermWrite)
	if code != jute.OK {
		return Change{}, code
	}
	n.version++
	p.put(q.Path, n)
	return Change{Kind: SetData, Path: q.Path, Data: q.Data, Version: n.version}, jute.OK
}

func (p *Plan) check(q *jute.Request) (Change, jute.Code) {
	if _, code := p.versioned(q, jute.PermRead); code != jute.OK {
		return Change{}, code
	}
	return Change{Kind: Check, Path: q.Path}, jute.OK
}

// versioned finds the node that a request with a version is about.
func (p *Plan) versioned(q *jute.Request, perm int32) (record, jute.Code) {
	if !Valid(q.Path) {
		return record{}, jute.BadArguments
	}
	n := p.record(q.Path)
	switch {
	case !n.exists:
		return n, jute.NoNode
	case !p.allowed(n.acl, perm):
		return n, jute.NoAuth
	case q.Version != -1 && q.Version != n.version:
		return n, jute.BadVersion
	}
	return n, jute.OK
}

// setACL keeps nothing for later parts: a client's multi has no setACL, and Load plans as super.
func (p *Plan) setACL(q *jute.Request) (Change, jute.Code) {
	if !Valid(q.Path) {
		return Change{}, jute.BadArguments
	}
	n := p.record(q.Path)
	acl, code := p.fix(q.ACL, n)
	switch {
	case code != jute.OK:
		return Change{}, code
	case !p.allowed(n.acl, jute.PermAdmin):
		return Change{}, jute.NoAuth
	case q.Version != -1 && q.Version != n.aversion:
		return Change{}, jute.BadVersion
	}
	return Change{Kind: SetACL, Path: q.Path, ACL: acl, Version: n.aversion + 1}, jute.OK
}

// fix is the ACL to be stored, if n is there: the node that the ACL is of, or a new one's parent.
func (p *Plan) fix(acl []jute.ACL, n record) ([]jute.ACL, jute.Code) {
	fixed, size, code := Fix(acl, p.caller.Who.IDs(), p.room(), p.caller.IPv6)
	p.acls += size
	if code == jute.OK && !n.exists {
		code = jute.NoNode
	}
	return fixed, code
}

// room is what is left of Caller.MaxACL.
func (p *Plan) room() int {
	if p.caller.MaxACL == 0 {
		return math.MaxInt
	}
	return p.caller.MaxACL - p.acls
}

func (p *Plan) delete(q *jute.Request) (Change, jute.Code) {
	parentPath, parent, code := p.deletable(q.Path)
	if code != jute.OK {
		return Change{}, code
	}
	if !p.allowed(parent.acl, jute.PermDelete) {
		return Change{}, jute.NoAuth
	}
	n := p.record(q.Path)
	switch {
	case !n.exists:
		return Change{}, jute.NoNode
	case q.Version != -1 && q.Version != n.version:
		return Change{}, jute.BadVersion
	case n.children > 0:
		return Change{}, jute.NotEmpty
	}
	return p.deletion(q.Path, parentPath, parent), jute.OK
}

// reap deletes a container or TTL znode on the server's own behalf.
func (p *Plan) reap(q *jute.Request) (Change, jute.Code) {
	parentPath, parent, code := p.deletable(q.Path)
	if code != jute.OK {
		return Change{}, code
	}
	n := p.record(q.Path)
	switch {
	case !n.exists:
		return Change{}, jute.NoNode
	case n.children > 0:
		return Change{}, jute.NotEmpty
	case n.owner == 0 || Ephemeral(n.owner):
		return Change{}, jute.BadVersion
	}
	return p.deletion(q.Path, parentPath, parent), jute.OK
}

// deletable checks what delete and reap have in common, and finds the parent.
func (p *Plan) deletable(path string) (parentPath string, parent record, code jute.Code) {
	slash := strings.LastIndexByte(path, '/')
	if slash < 0 || strings.IndexByte(path, 0) >= 0 || Special(path) {
		return "", record{}, jute.BadArguments
	}
	parent = p.record(path[:slash])
	if !parent.exists {
		return "", record{}, jute.NoNode
	}
	return path[:slash], parent, jute.OK
}

func (p *Plan) deletion(path, parentPath string, parent record) Change {
	parent.children--
	p.put(parentPath, parent)
	p.put(path, record{})
	return Change{Kind: Delete, Path: path}
}

// CloseSession lists the deletions that the end of a session brings.
func (t *Tree) CloseSession(session int64) []Change {
	var all []Change
	for _, path := range t.Ephemerals(session) {
		all = append(all, Change{Kind: Delete, Path: path})
	}
	return all
}
