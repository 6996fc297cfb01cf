package consume

import (
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
)

// Demand is how many items are wanted, in the place of [Config.Prefetch], of the machine with this
// First: one before it may have been told of more or fewer.
type Demand struct {
	First  uint64
	Wanted int
}

// Command says what has become of an item that was handed out, or what is to.
type Command struct {
	No    uint64 // of the item: see [Config.First]
	What  What
	After int64 // of Nack: the pause, in milliseconds
}

// What it says. Of Ack, Nack and Return the first for an item counts, and is answered.
type What int

// What a command says.
const (
	Ack      What = iota + 1 // done with: it is deleted
	Nack                     // it goes back, and this was an attempt
	Return                   // it goes back as if it had never been handed out: nobody has received it
	Received                 // it has found its receiver
	Ended                    // the possession has ended by itself: it goes back; if it was received, this was an attempt
	Unheld                   // no possession could be made, because the session is not trusted at this instant: it goes back
)

// Deliver hands an item out.
type Deliver struct {
	No       uint64
	ID       string
	Record   layout.Record
	Priority int
	Attempt  int // 1 for the first
	Epoch    uint64
	Path     string // of the claim
	Token    int64  // the transaction that claimed it: the claim's Czxid
	Item     string // the item's path
	Version  int32  // that the item has as long as the claim stands
}

// Settled tells what has become of an item, and answers the command. nil: that. Otherwise it
// is not this consumer's any more: session.ErrDeleted if somebody has deleted it or its claim,
// session.ErrLost with its epoch, and session.ErrUnknownOutcome if the settlement was under way
// then.
type Settled struct {
	No    uint64
	Err   error
	Stays bool // the settlement was refused, with this error: another may be tried
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
	Names [2][]string // of the buckets in items/ and in later/, by the last look
}

// Answer tells what has become of a Put.
type Answer struct {
	No  uint64
	Err error // nil: all of it is done
}
