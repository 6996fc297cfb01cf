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
	First    uint64 // the numbers of its items are greater: commands about others are for a machine before it, whose items are lost
	Takes    bool   // an item that was received does not count among those that are wanted
	Prefetch int    // how many are claimed and not settled, at the most
	Attempts int    // after how many an item is a dead letter; 0: never
	Dead     layout.Root
	Seed     uint64 // of its random draws
}

// Demand is how many items are wanted, in the place of [Config.Prefetch], of the machine with this
// First: one before it may have been told of more or fewer.
type Demand struct {
	First  uint64
	Wanted int
}

// Command says what has become of an item that was delivered, or what is to become of it.
type Command struct {
	No    uint64 // of the item: see [Config.First]
	Kind  Kind
	After int64 // of Nack: the pause, in milliseconds

	Failure []byte // of Nack: see [layout.Failure]; nil: the item keeps what it has
}

// What a command says. Of Ack, Nack and Return the first for an item counts, and is answered with
// Settled; the others are not answered.
type Kind int

// What commands say.
const (
	Ack      Kind = iota + 1 // done with: it is deleted
	Nack                     // it goes back, and this was an attempt
	Return                   // nobody has received it: it goes back as if it had never been claimed
	Received                 // somebody has received it: if it goes back, this was an attempt
	Ended                    // the possession was lost: it goes back
	Unheld                   // no possession was made, since the session is not trusted at this instant: it goes back
)

// Deliver hands an item out.
type Deliver struct {
	No       uint64
	GUID     string
	Owned    bool // by its producer's session
	Record   layout.Record
	Priority int
	Attempt  int // 1 for the first
	Epoch    uint64
	Path     string // of the claim
	Token    int64  // the transaction that claimed it: the claim's Czxid
	Item     string // the item's path
	Version  int32  // that the item has as long as the claim stands
}

// Settled tells what has become of an item, and answers Ack, Nack and Return. Without an error that
// was done. With one the item is not this consumer's any more, unless it stays: session.ErrDeleted
// if somebody has deleted it or its claim, session.ErrLost if the epoch has ended, with
// session.ErrUnknownOutcome if a settlement was under way then.
type Settled struct {
	No    uint64
	Err   error
	Stays bool // the settlement was refused with this error: the item is still claimed, and can be settled again
}

// Skipped: something at this path is in the way and is passed over.
type Skipped struct {
	Path   string
	Err    error
	Blocks bool // nothing can be claimed until it passes
}

// Put has a producer put items in one transaction with operations that delete what they were. It is
// answered with Answer.
type Put struct {
	No    uint64
	Dead  bool // into the dead letters
	Delay int64
	GUIDs []string
	Items []layout.Record
	With  []machine.Op
	Names [2][]string // of the buckets in items/ and in later/, by the last listing

	Silent bool // a dead letter whose last attempt has left no failure: one may be added
}

// Answer tells what has become of a Put.
type Answer struct {
	No  uint64
	Err error // nil: all of it is done
}
