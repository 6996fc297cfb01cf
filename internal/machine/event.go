package machine

// Event is something that happened to a machine. The set is closed.
type Event interface{ event() }

// Claim names one wish to have the thing: of the standing intent or of one caller. The host hands
// out each number once, from 1 on.
type Claim uint64

// Wanted: a claim joins those of the instance. Once means that the claim is over when its
// possession ends; otherwise it stands again. Try means that the claim is to be refused with
// [ErrHeld] as soon as anybody is known to be ahead of it.
type Wanted struct {
	Claim Claim
	Once  bool
	Try   bool
}

// Withdrawn: a claim is no longer wanted, whether it waits or holds. It is answered with [Settle]
// when nothing of it is left in ZooKeeper. Lost tells that its possession had ended by itself
// before: this is the word of that, too, and no HoldEnded comes.
type Withdrawn struct {
	Claim Claim
	Lost  bool
}

// Released: the possession of a claim was given up (its hold has ended already). A claim that is
// not Once stands again behind the others. It is answered with [Freed] when the znode is gone.
type Released struct{ Claim Claim }

// HoldEnded: the possession of a claim has ended by itself: trust ran out, or the host could not
// establish or deliver it.
type HoldEnded struct{ Claim Claim }

// Deferred: the host could not turn a [Grant] into a possession because the session is not trusted
// at this instant. TrustGained follows.
type Deferred struct{ Claim Claim }

// EpochBegan: the session is connected in a new epoch and nothing of an older epoch exists for this
// machine any more.
type EpochBegan struct {
	Epoch     uint64
	SessionID int64
	Trusted   bool
}

// EpochEnded: the epoch is over. ZooKeeper has confirmed that, so all its ephemeral znodes are
// gone.
type EpochEnded struct{ Epoch uint64 }

// TrustEnded and TrustGained: the session may not, or may again, be assumed alive by this process's
// own clocks.
type (
	TrustEnded  struct{ Epoch uint64 }
	TrustGained struct{ Epoch uint64 }
)

// Suspended and Resumed: the connection went, or came back, within an epoch. Requests in flight are
// answered later all the same.
type (
	Suspended struct{ Epoch uint64 }
	Resumed   struct{ Epoch uint64 }
)

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

// Listed answers [List], and the listing that goes with [Enter]. Ask repeats the effect's number.
type Listed struct {
	Epoch uint64
	Ask   uint64
	Names []string
	Err   error
}

// Seen answers [Read].
type Seen struct {
	Epoch   uint64
	Path    string
	Ask     uint64
	Exists  bool
	Data    []byte
	Version int32
	Czxid   int64
	Owner   int64
	Err     error
}

// Left answers [Leave]: the znode is gone.
type Left struct {
	Epoch uint64
	Path  string
}

// Fired: an armed watch fired, once. It has to be armed again by another [Read], or [List].
type Fired struct {
	Epoch    uint64
	Path     string
	Deleted  bool // otherwise the data changed,
	Children bool // or somebody came or went
}

// Recovered: a host took over from one that crashed. Path is the znode that its predecessor had
// standing in line in this epoch; Spent tells that a possession came of it already, so that it must
// not be granted again. It comes right after EpochBegan, before any Wanted.
type Recovered struct {
	Epoch uint64
	Path  string
	Spent bool
}

// Woke answers [Wake].
type Woke struct{ Ask uint64 }

func (Wanted) event()      {}
func (Withdrawn) event()   {}
func (Released) event()    {}
func (HoldEnded) event()   {}
func (Deferred) event()    {}
func (EpochBegan) event()  {}
func (EpochEnded) event()  {}
func (TrustEnded) event()  {}
func (TrustGained) event() {}
func (Suspended) event()   {}
func (Resumed) event()     {}
func (Entered) event()     {}
func (Listed) event()      {}
func (Seen) event()        {}
func (Left) event()        {}
func (Fired) event()       {}
func (Recovered) event()   {}
func (Woke) event()        {}
