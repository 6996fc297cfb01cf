package zkconn

import (
	"time"

	"github.com/troupe-go/troupe/internal/jute"
)

// toWire is an operation as it is encoded, alone or in a transaction.
func toWire(op *Op) jute.Request {
	ask := jute.Request{Op: jute.Op(op.Kind), Path: op.Path, Version: op.Version}
	switch op.Kind {
	case OpCreate:
		ask.Data, ask.ACL, ask.Flags = notNull(op.Data), op.ACL, int32(op.Mode)
		switch op.Mode {
		case Container:
			ask.Op = jute.OpCreateContainer
		case TTL, SequentialTTL:
			ask.Op = jute.OpCreateTTL
		}
	case OpSet:
		ask.Data = notNull(op.Data)
	}
	return ask
}

// notNull replaces null by empty data: other clients may not expect znodes without data.
func notNull(data []byte) []byte {
	if data == nil {
		return []byte{}
	}
	return data
}

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
