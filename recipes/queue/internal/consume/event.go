package consume

import (
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
)

// Config is what a machine knows of itself.
type Config struct {
	Root     layout.Root
	GUID     string // of this incarnation: the name of its znode in consumers/, and the data of its claims
	Identity []byte // the data of that znode: see znode.Identity
	First    uint64 // the numbers of its items are greater: a smaller one in a command is of a former machine, whose items are lost
	Takes    bool   // for calls of Take: an item that was received does not count among those that are wanted
	Prefetch int    // how many are claimed and not settled, at the most
	Attempts int    // an item is a dead letter after so many; 0: never
	Dead     layout.Root
	Seed     uint64 // of its random draws
}

// Demand is how many items are wanted from now on, in the place of [Config.Prefetch]. It is for the
// machine with this First: one before it may have been told of more or fewer.
type Demand struct {
	First  uint64
	Wanted int
}

// Command says what has become of an item that was delivered, or what is to become of it.
type Command struct {
	No      uint64 // of the item: see [Config.First]
	Kind    Kind
	After   int64  // of Nack: the pause, in milliseconds
	Failure []byte // of Nack: see [layout.Failure]; nil: the item keeps what it has
}

// Kind is the kind of a command. Of Ack, Nack and Return the first for an item counts, and is
// answered with Settled. The other kinds are not answered.
type Kind int

// The kinds of commands.
const (
	Ack      Kind = iota + 1 // the item is done with, and deleted
	Nack                     // the item goes back, and this was an attempt
	Return                   // the item goes back as if it had never been claimed
	Received                 // the item was received: if it goes back, this was an attempt
	Ended                    // the possession was lost: the item goes back
	Unheld                   // no possession was made, since the session is not trusted at this instant: the item goes back
)

// Deliver hands an item out.
type Deliver struct {
	No       uint64
	GUID     string
	Owned    bool // the item's znode is ephemeral, of its producer's session
	Record   layout.Record
	Priority int
	Attempt  int // 1 for the first
	Epoch    uint64
	Path     string // of the claim
	Token    int64  // the transaction that claimed it: the claim's Czxid
	Item     string // the item's path
	Version  int32  // of the item's znode, as long as the claim exists
}

// Settled is the end of an item, and the answer to Ack, Nack and Return. Without an error the
// command was carried out. With an error, and without Stays, the item is not this consumer's any
// more: session.ErrDeleted if another client has deleted it or its claim, session.ErrLost if the
// epoch has ended, with session.ErrUnknownOutcome if a settlement was under way then.
type Settled struct {
	No    uint64
	Err   error
	Stays bool // the settlement was refused with this error: the item is still claimed, and can be settled again
}

// Pause tells whether the queue is paused. If so, the application gives back, with Return, what was
// delivered and not received.
type Pause struct{ On bool }

// Skipped reports a path that is in the way, and is passed over.
type Skipped struct {
	Path   string
	Err    error
	Blocks bool // nothing can be claimed as long as the error lasts
}

// Put has a producer put items, in one transaction with operations that delete them where they
// were. The answer is an Answer.
type Put struct {
	No     uint64
	Dead   bool // into the dead letters
	Delay  int64
	GUIDs  []string
	Items  []layout.Record
	With   []machine.Op
	Names  [2][]string // of the buckets in items/ and in later/, by the last listing
	Silent bool        // a dead letter whose last attempt has left no failure: a text may be added
}

// Answer is the outcome of a Put.
type Answer struct {
	No  uint64
	Err error // nil: the transaction was carried out
}
