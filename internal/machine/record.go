package machine

// Record writes a token into the record beside the contenders, in a transaction that happens only
// while the own znode stands: in the place of what the record contained when it had that version,
// or, with version -1, where there is none.
type Record struct {
	Epoch   uint64
	Ask     uint64
	Own     string // path of the own znode
	Token   int64
	Version int32
}

// Recorded answers [Record] with what the record contains then: the token, if it was written. 0:
// there is none, or it makes no sense.
type Recorded struct {
	Epoch   uint64
	Ask     uint64
	Token   int64
	Version int32 // of the record, -1 if there is none
	Err     error // definite
}

// Delay asks for [Woke] after the lock's delay.
type Delay struct{ Ask uint64 }

// Release is [Leave] for a possession that was given up: the record goes in the same transaction.
type Release struct {
	Epoch uint64
	Path  string
}

func (Recorded) event() {}
func (Record) effect()  {}
func (Delay) effect()   {}
func (Release) effect() {}
