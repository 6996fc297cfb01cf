package machine

// EpochBegan: the session is connected in a new epoch, up to date with the leader. Trusted tells
// whether possessions can be made at once.
type EpochBegan struct {
	Epoch     uint64
	SessionID int64
	Trusted   bool
}

// EpochEnded: the epoch is over. ZooKeeper has confirmed that, so its ephemeral znodes are gone;
// nothing that was asked in it is answered any more. An epoch that ends with the session, of which
// that is not known, ends the instance without this event.
type EpochEnded struct{ Epoch uint64 }

type (
	// Suspended: the connection went. The epoch, and whatever was asked in it, goes on.
	Suspended struct{ Epoch uint64 }

	// Resumed: the connection is back, within the same epoch.
	Resumed struct{ Epoch uint64 }

	// TrustEnded: the session may not be assumed alive any more, by this process's own clocks.
	// Every possession has ended by then.
	TrustEnded struct{ Epoch uint64 }

	// TrustGained: it may again, so that possessions can be made. It comes after every refusal of
	// one for want of trust, if trust comes back; also if no TrustEnded came before, since an idle
	// session's trust runs out silently.
	TrustGained struct{ Epoch uint64 }
)

// Listed answers [List]. Of a znode that does not exist the Code is [NoNode], and no watch is
// armed.
type Listed struct {
	Epoch      uint64
	Ask        uint64
	Path       string
	Names      []string // of the children, in no order
	Contenders any      // what Names were made of for several machines, which they know; nil: nothing
	Stat       Stat
	Code       Code
	Err        error // what the Code stands for, nil if [Done]
}

// Seen answers [Read]. That the znode does not exist is no error; then no watch is armed.
// SameSession: it was not read, and is followed in the session. [Fired] tells, perhaps twice, that
// it or one before it holds ([Held]), and once of its end ([HolderReleased] or [Deleted]).
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

// MultiSeen answers [MultiRead]. For each query, in their order, there is a [Seen] or, of children,
// a [Listed] without its Stat, each with a Code of its own: one that fails leaves the others as
// they are.
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
	Failed  int      // the index of the operation for which the transaction failed; -1 if there is none
	Results []Result // one an operation, if the Code is [Done]
	Err     error
}

// Result is what came of one operation of a transaction.
type Result struct {
	Path string // of Create: the path of the new znode, sequence number included
	Stat Stat   // of Set
}

// Ensured answers [Ensure].
type Ensured struct {
	Epoch uint64
	Ask   uint64
	Code  Code
	Err   error
}

// Removed answers [Remove]: nothing is at the path that was the instance's to delete.
type Removed struct {
	Epoch uint64
	Ask   uint64
	Path  string
}

// Fired: an armed watch fired, once. It has to be armed again by another [List] or [Read]. Only
// after [Held] it need not.
type Fired struct {
	Epoch  uint64
	Path   string
	Change Change
}

// Change is what a watch saw.
type Change int

// What a watch sees.
const (
	DataChanged     Change = iota + 1 // of a watch of [Read]
	ChildrenChanged                   // of a watch of [List]
	Deleted                           // the znode itself, of either
	Held                              // of what is followed in the session: it holds, or somebody before it
	HolderReleased                    // of the same: it has held and released, and its znode is being deleted
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

// Closing: wind up. When nothing is left to settle, the machine asks for [Stop].
type Closing struct{}

// Code is how a request ended, as far as machines decide by it.
type Code int

// How a request ends.
const (
	Done       Code = iota // carried out
	NoNode                 // definite, nothing was done: the znode, or the parent of one to be created, does not exist
	NodeExists             // definite: the znode to be created exists
	BadVersion             // definite: the znode has another version
	NotEmpty               // definite: the znode to be deleted has children
	Unknown                // the answer was lost; a read now tells whether it was carried out
	Refused                // definite, and none of these: Err says what
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
