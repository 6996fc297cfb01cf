package machine

// Enter makes an ephemeral sequential znode, with a listing right behind it that is
// answered by Listed with the number Ask. If Replace is not empty, that own znode, whose possession
// is over, is deleted in the same transaction.
type Enter struct {
	Epoch   uint64
	Replace string
	Ask     uint64
}

// Entered answers [Enter]: the own znode's path, or a definite error with nothing left behind.
// Czxid and Owner are what the create's own answer told of the znode; 0 when it was not told: an
// old server, a lost answer, a znode that was replaced.
type Entered struct {
	Epoch uint64
	Path  string
	Czxid int64
	Owner int64
	Err   error
}

// Downgrade puts a reader's znode into the place in line of an own one, which is deleted in the
// same transaction. Token is what that place was taken with.
type Downgrade struct {
	Epoch uint64
	Path  string // of the writer's
	Token int64
}

// Downgraded answers [Downgrade]. Gone tells that the znode at Path was not there any more; with
// that, and with Err, which is definite, nothing was done.
type Downgraded struct {
	Epoch uint64
	Path  string // of the writer's
	New   string // of the reader's
	Gone  bool
	Err   error
}

// Record writes a token into the record beside the contenders, in a transaction that happens only
// while the own znode stands: in the place of what the record contained when it had that version,
// or, with version -1, where there is none.
type Record struct {
	Epoch   uint64
	Ask     uint64
	Path    string // path of the own znode
	Token   int64
	Version int32
	Delay   int64 // how long it is waited after another's token, in milliseconds: noted there; 0: it is not waited
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

// Release is [Remove] for a possession that was given up: the record goes in the same transaction.
type Release struct {
	Epoch uint64
	Path  string
}
