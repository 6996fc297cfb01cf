package zkconn

import (
	"time"

	"github.com/troupe-go/troupe/internal/jute"
	"github.com/troupe-go/troupe/internal/seam"
)

type (
	// Stat is what ZooKeeper keeps about a znode beside its data.
	Stat = seam.Stat
	// Query is one of the reads of [Conn.Look].
	Query = seam.Query
	// Found is what came of a [Query].
	Found = seam.Found
)

func fromWire(s *jute.Stat) Stat {
	if *s == (jute.Stat{}) {
		return Stat{} // not the times of 1970
	}
	return Stat{
		Czxid: s.Czxid, Mzxid: s.Mzxid, Pzxid: s.Pzxid, Ctime: time.UnixMilli(s.Ctime), Mtime: time.UnixMilli(s.Mtime),
		Version: s.Version, Cversion: s.Cversion, Aversion: s.Aversion,
		EphemeralOwner: s.EphemeralOwner, DataLength: s.DataLength, NumChildren: s.NumChildren,
	}
}

// Result is what came of one operation of a transaction.
type Result struct {
	Path string // of a create: the path of the new znode, sequence number included
	Stat Stat   // of a set
	Err  error  // nil for all, or the cause for the one that failed, nil for those before it and [ErrRolledBack] for those behind it
}

// NewCreate asks for a znode, with the operation that its flags need.
func NewCreate(path string, data []byte, flags int32, ttl time.Duration, acl []jute.ACL) jute.Request {
	op := jute.OpCreate
	switch flags {
	case jute.FlagContainer:
		op = jute.OpCreateContainer
	case jute.FlagPersistentTTL, jute.FlagPersistentSequentialTTL:
		op = jute.OpCreateTTL
	}
	return jute.Request{Op: op, Path: path, Data: data, Flags: flags, TTL: ttl.Milliseconds(), ACL: acl}
}

// notNull replaces null by empty data: other clients may not expect znodes without data.
func notNull(ask *jute.Request) {
	if ask.Data == nil {
		ask.Data = []byte{} // operations without data ignore it
	}
}

// Size is how large a request is for a server, which takes it if this is at most its
// jute.maxbuffer: see Config.MaxPacket.
func Size(ask jute.Request) int {
	frame := encoder()
	defer release(frame)
	frame.Begin()
	ask.Encode(frame)
	return frame.End()
}

// SizeOf is the Size of the transaction of these operations. SizeOf() is that of an empty one; each
// operation adds SizeOf(op)-SizeOf().
func SizeOf(ops ...jute.Request) int { return Size(jute.Request{Op: jute.OpMulti, Ops: ops}) }
