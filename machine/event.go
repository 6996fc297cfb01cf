package machine

// EpochBegan tells that the session is connected in a new epoch, up to date with the leader.
// Trusted tells whether possessions can be made at once.
type EpochBegan struct {
	Epoch     uint64
	SessionID int64
	Trusted   bool
}

// EpochEnded tells that the epoch has ended. ZooKeeper has confirmed it, so its ephemeral znodes
// are gone, and no request of it is answered any more. If the session ends without that
// confirmation, the instance ends without this event.
type EpochEnded struct{ Epoch uint64 }

type (
	// Suspended tells that the connection was lost. The epoch and its requests go on.
	Suspended struct{ Epoch uint64 }

	// Resumed tells that the connection is back, within the same epoch.
	Resumed struct{ Epoch uint64 }

	// TrustEnded tells that the session may have expired, by this process's own clock. Every
	// possession has ended by then.
	TrustEnded struct{ Epoch uint64 }

	// TrustGained tells that the session is alive, so that possessions can be made. It comes after
	// every refusal of a possession for lack of trust, if trust comes back; also without a
	// TrustEnded before it, since the trust of an idle session runs out silently.
	TrustGained struct{ Epoch uint64 }
)

// Listed answers [List]. If the znode does not exist, the Code is [NoNode], and no watch is armed.
type Listed struct {
	Epoch      uint64
	Ask        uint64
	Path       string
	Names      []string // of the children, in no order
	Contenders any      // Names as parsed once for several machines, which know the type; nil: they are not
	Stat       Stat
	Code       Code
	Err        error // nil if the Code is [Done]
}

// Seen answers [Read]. A znode that does not exist is no error; then no watch is armed. With
// SameSession the znode was not read, and is followed in the session: [Fired] tells, perhaps twice,
// that it or one before it holds ([Held]), and once that it ends ([HolderReleased] or [Deleted]).
type Seen struct {
	Epoch       uint64
	Ask         uint64
	Path        string
	Exists      bool
	SameSession bool
	Data        []byte
	Stat        Stat
	Code        Code
	Err         error
}

// MultiSeen answers [MultiRead]. For each query, in their order, there is a [Seen], or for children
// a [Listed] without its Stat. Each has a Code of its own: if one fails, the others are valid.
type MultiSeen struct {
	Epoch   uint64
	Ask     uint64
	Answers []Event
}

// Transacted answers [Transact].
type Transacted struct {
	Epoch   uint64
	Ask     uint64
	Code    Code
	Failed  int      // the index of the operation that failed; -1 if there is none
	Results []Result // one for each operation, if the Code is [Done]
	Err     error
}

// Result is the result of one operation of a transaction.
type Result struct {
	Path string // for Create: the path of the new znode, with its sequence number
	Stat Stat   // for Set
}

// Ensured answers [Ensure].
type Ensured struct {
	Epoch uint64
	Ask   uint64
	Code  Code
	Err   error
}

// Removed answers [Remove]: no znode is at the path that the instance has to delete.
type Removed struct {
	Epoch uint64
	Ask   uint64
	Path  string
}

// Fired tells that an armed watch fired, once. It has to be armed again by another [List] or
// [Read], except after [Held].
type Fired struct {
	Epoch  uint64
	Path   string
	Change Change
}

// Change is the change that a watch saw.
type Change int

// The changes.
const (
	DataChanged     Change = iota + 1 // of a watch of [Read]
	ChildrenChanged                   // of a watch of [List]
	Deleted                           // the znode itself, of either watch
	Held                              // a znode that is followed in the session, or one before it, holds
	HolderReleased                    // a znode that is followed in the session has held and released, and is being deleted
)

var changes = [...]string{DataChanged: "data", ChildrenChanged: "children", Deleted: "deleted", Held: "held", HolderReleased: "holder-released"}

// String names the change as the golden traces show it.
func (c Change) String() string {
	if c < DataChanged || c > HolderReleased {
		return "none"
	}
	return changes[c]
}

// Woke answers [Wake].
type Woke struct{ Ask uint64 }

// Closing tells the machine to wind up. When nothing is left to settle, it emits [Stop].
type Closing struct{}

// Code is how a request ended.
type Code int

// How a request ends.
const (
	Done       Code = iota // carried out
	NoNode                 // definite, nothing was done: the znode, or the parent of the one to be created, does not exist
	NodeExists             // definite: the znode to be created exists
	BadVersion             // definite: the znode has another version
	NotEmpty               // definite: the znode to be deleted has children
	Unknown                // the answer was lost; a read now tells whether it was carried out
	Refused                // definite, and none of these: see Err
)

var codes = [...]string{
	Done: "done", NoNode: "no node", NodeExists: "node exists", BadVersion: "bad version", NotEmpty: "not empty",
	Unknown: "unknown", Refused: "refused",
}

// String names the code as the golden traces show it.
func (c Code) String() string {
	if c < 0 || int(c) >= len(codes) {
		return "no code"
	}
	return codes[c]
}
