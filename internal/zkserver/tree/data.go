package tree

import (
	"math"

	"github.com/troupe-go/troupe/internal/jute"
)

func (p *Plan) setData(q *jute.Request) (Change, jute.Code) {
	n, code := p.versioned(q, jute.PermWrite)
	if code != jute.OK {
		return Change{}, code
	}
	n.version++
	p.note(q.Path, n)
	return Change{Kind: SetData, Path: q.Path, Data: q.Data, Version: n.version}, jute.OK
}

func (p *Plan) check(q *jute.Request) (Change, jute.Code) {
	if _, code := p.versioned(q, jute.PermRead); code != jute.OK {
		return Change{}, code
	}
	return Change{Kind: Check, Path: q.Path}, jute.OK
}

// versioned finds the node that a request with a version is about.
func (p *Plan) versioned(q *jute.Request, perm jute.Perms) (record, jute.Code) {
	if !Valid(q.Path) {
		return record{}, jute.BadArguments
	}
	n := p.look(q.Path)
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

func (p *Plan) setACL(q *jute.Request) (Change, jute.Code) {
	if !Valid(q.Path) {
		return Change{}, jute.BadArguments
	}
	n := p.look(q.Path)
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

// fix is the ACL to be stored, if the node that it depends on is there.
func (p *Plan) fix(acl []jute.ACL, n record) ([]jute.ACL, jute.Code) {
	fixed, size, code := Fix(acl, p.who.Who.IDs(), p.room(), p.who.IPv6)
	p.acls += size
	if code == jute.OK && !n.exists {
		code = jute.NoNode
	}
	return fixed, code
}

// room is what is left of Caller.MaxACL.
func (p *Plan) room() int {
	if p.who.MaxACL == 0 {
		return math.MaxInt
	}
	return p.who.MaxACL - p.acls
}
