package zkconn

import "github.com/troupe-go/troupe/internal/jute"

// OpKind says what an [Op] does.
type OpKind int32

// The kinds of operations.
const (
	OpCreate OpKind = 1
	OpDelete OpKind = 2
	OpSet    OpKind = 5
	OpCheck  OpKind = 13 // only checks the version
)

// Op is one operation of a transaction.
type Op struct {
	Kind    OpKind
	Path    string
	Data    []byte     // of OpCreate and OpSet
	Version int32      // of OpSet, OpDelete and OpCheck; -1: any
	Mode    Mode       // of OpCreate; a transaction can't create containers or znodes with a time to live ([ErrUnsupported])
	ACL     []jute.ACL // of OpCreate
}

// Result is what came of one operation of a transaction.
type Result struct {
	Path string // of OpCreate: the path of the new znode, sequence number included
	Stat Stat   // of OpSet
	Err  error  // nil for all, or the cause for the one that failed, nil for those before it and [ErrRolledBack] for those behind it
}

// Size is how large the transaction of these operations is for a server, which takes it if this is
// at most its jute.maxbuffer: see Config.MaxPacket. Size() is that of an empty one; each operation
// adds Size(op)-Size().
func Size(ops ...Op) int {
	ask := jute.Request{Op: jute.OpMulti, Ops: make([]jute.Request, len(ops))}
	for i := range ops {
		ask.Ops[i] = toWire(&ops[i])
	}
	return size(&ask)
}

// SizeAlone is how large the operation is for a server if it is sent by itself.
func SizeAlone(op Op) int {
	ask := toWire(&op)
	return size(&ask)
}

func size(ask *jute.Request) int {
	frame := encoder()
	defer release(frame)
	frame.Begin()
	ask.Encode(frame)
	return frame.End()
}
