package tree

import (
	"fmt"
	"strings"

	"github.com/troupe-go/troupe/internal/jute"
)

func (p *Plan) create(q *jute.Request) (Change, jute.Code) {
	none := Change{}
	if q.Flags < jute.FlagPersistent || q.Flags > jute.FlagPersistentSequentialTTL {
		return none, jute.BadArguments
	}
	ttlMode := q.Flags == jute.FlagPersistentTTL || q.Flags == jute.FlagPersistentSequentialTTL
	if badTTL(ttlMode, q.TTL) || q.Op == jute.OpCreateTTL && !ttlMode {
		return none, jute.BadArguments
	}
	slash := strings.LastIndexByte(q.Path, '/')
	if slash < 0 || strings.IndexByte(q.Path, 0) >= 0 {
		return none, jute.BadArguments
	}
	parentPath, path := q.Path[:slash], q.Path
	parent := p.record(parentPath)
	acl, code := p.fix(q.ACL, parent)
	if code != jute.OK {
		return none, code
	}
	if !p.allowed(parent.acl, jute.PermCreate) {
		return none, jute.NoAuth
	}
	if sequential(q.Flags) {
		path += fmt.Sprintf("%010d", parent.creations)
	}
	if !Valid(path) {
		return none, jute.BadArguments
	}
	if p.record(path).exists {
		return none, jute.NodeExists
	}
	if Ephemeral(parent.owner) {
		return none, jute.NoChildrenForEphemerals
	}
	c := Change{Kind: Create, Path: path, Data: q.Data, ACL: acl, Owner: p.owner(q), Creations: parent.creations + 1}
	parent.creations++
	parent.children++
	p.put(parentPath, parent)
	p.put(path, record{exists: true, owner: p.flagged(q), acl: acl})
	return c, jute.OK
}

func sequential(flags int32) bool {
	return flags == jute.FlagSequential || flags == jute.FlagEphemeralSequential || flags == jute.FlagPersistentSequentialTTL
}

// badTTL: a TTL is for the modes that have one, and only for them; a negative one is none.
func badTTL(mode bool, ttl int64) bool {
	if mode {
		return ttl <= 0 || ttl > MaxTTL
	}
	return ttl >= 0
}

// flagged is the owner that later parts of the same multi see: until it is applied, the flags of a
// create alone count in the real server.
func (p *Plan) flagged(q *jute.Request) int64 {
	switch q.Flags {
	case jute.FlagEphemeral, jute.FlagEphemeralSequential:
		return p.caller.Session
	case jute.FlagContainer:
		return OwnerContainer
	case jute.FlagPersistentTTL, jute.FlagPersistentSequentialTTL:
		return OwnerTTL(q.TTL)
	}
	return 0
}

// owner is decided by the operation first and by the flags only within a plain create. As in the
// real server, createContainer makes a container with any flags, and a create with the container
// flag makes a plain znode.
func (p *Plan) owner(q *jute.Request) int64 {
	switch q.Op {
	case jute.OpCreateContainer:
		return OwnerContainer
	case jute.OpCreateTTL:
		return OwnerTTL(q.TTL)
	}
	if q.Flags == jute.FlagEphemeral || q.Flags == jute.FlagEphemeralSequential {
		return p.caller.Session
	}
	return 0
}
