package contend

// State is the state of a machine. It is never derived from the other fields.
type State int

// The states of a machine.
const (
	Out         State = iota // no epoch: there are no requests
	Idle                     // no claim and no znode
	Entering                 // the own znode is being created, perhaps in place of one that was granted
	Reading                  // another client's single znode exists; it is being read and watched
	Watching                 // another client's single znode is watched
	Listing                  // the own znode exists; the contenders are being listed
	Ordering                 // sequence numbers leave the order open: Czxids are being read
	Checking                 // the contenders ahead are known; the own znode and the predecessor, if any, are being read and watched
	Waiting                  // the predecessor is watched; so is the own znode, unless there will be another listing
	Marking                  // it is its turn, and the own znode is being marked: semaphores only
	Ready                    // first; the grant waits for trust, for the record of a delay, or until the host may accept it
	Holding                  // a possession was granted
	Downgrading              // the own znode is being replaced by a reader's
	Leaving                  // the own znode is being deleted
)

// The states of a lock's delay, beside those.
const (
	Open      State = iota + Leaving + 1 // it is not its turn, or the session is not trusted
	Recording                            // the token is being written into the record
	Delaying                             // another's token was found there; the delay runs
	Recorded                             // the token is there: grants pass
)

var states = [...]string{
	Out: "Out", Idle: "Idle", Entering: "Entering", Reading: "Reading", Watching: "Watching", Listing: "Listing", Ordering: "Ordering",
	Checking: "Checking", Waiting: "Waiting", Marking: "Marking", Ready: "Ready", Holding: "Holding", Downgrading: "Downgrading", Leaving: "Leaving",
	Open: "Open", Recording: "Recording", Delaying: "Delaying", Recorded: "Recorded",
}

// String names the state.
func (s State) String() string {
	if s < 0 || int(s) >= len(states) {
		return "unknown"
	}
	return states[s]
}

// placed tells whether the own znode exists, its path is known, and it is not being deleted.
func placed(s State) bool { return s >= Listing && s <= Holding }

// blocked tells whether another contender is ahead, and watched or about to be.
func blocked(s State) bool { return s == Reading || s == Watching || s == Waiting }

// request is the key of a pending request: its kind, and the znode, if several of the kind may be
// pending.
type request struct {
	kind kind
	of   string
}

type kind int

const (
	readingNames kind = iota + 1 // the create, or a listing: the contenders' names
	watching                     // a read with a watch; of: the path
	ordering                     // a read of a Czxid; of: the contender's name
	readingLimit                 // a read of a semaphore's limit, without a watch
	writingLimit                 // a write of the limit, which was not set
	marking                      // a write of the mark that the own znode holds
	delaying                     // a write of the record, or the delay before it
	waiting                      // the pause before the machine looks ahead
	pausing                      // the pause before the own znode is read, while it is held
)
