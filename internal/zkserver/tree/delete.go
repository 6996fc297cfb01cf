package tree

import (
	"strings"

	"github.com/troupe-go/troupe/internal/jute"
)

func (p *Plan) delete(q *jute.Request) (Change, jute.Code) {
	parentPath, parent, code := p.deletable(q.Path)
	if code != jute.OK {
		return Change{}, code
	}
	if !p.allowed(parent.acl, jute.PermDelete) {
		return Change{}, jute.NoAuth
	}
	n := p.look(q.Path)
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
	n := p.look(q.Path)
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

func (p *Plan) deletable(path string) (parentPath string, parent record, code jute.Code) {
	slash := strings.LastIndexByte(path, '/')
	if slash < 0 || strings.IndexByte(path, 0) >= 0 || Special(path) {
		return "", record{}, jute.BadArguments
	}
	parent = p.look(path[:slash])
	if !parent.exists {
		return "", record{}, jute.NoNode
	}
	return path[:slash], parent, jute.OK
}

func (p *Plan) deletion(path, parentPath string, parent record) Change {
	parent.children--
	p.note(parentPath, parent)
	p.note(path, record{})
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
