package consume

import (
	"errors"

	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
)

// Errors of settlements.
var (
	ErrLost    = errors.New("the item is not this consumer's any more")
	ErrOverdue = errors.New("the item was not settled in time")
	ErrUnknown = errors.New("the answer was lost, and with it the claim")
	ErrGone    = errors.New("the item was removed")
	ErrClosing = errors.New("the consumer is closing")
)

// Demand is how many items are wanted, in the place of [Config.Prefetch], of the machine with this
// First: one before it may have been told of more or fewer.
type Demand struct {
	First  uint64
	Wanted int
}

// Wish says what has become of an item that was handed out, or what is to.
type Wish struct {
	No    uint64 // of the item: see [Config.First]
	What  What
	After int64 // of Nack: the pause; of Extend: from now on; in milliseconds
}

// What is wished. Of Ack, Nack and Return the first for an item counts, and is answered.
type What int

// What can be wished.
const (
	Ack      What = iota + 1 // done with: it is deleted
	Nack                     // it goes back, and this was an attempt
	Return                   // it goes back as if it had never been handed out: nobody has received it
	Received                 // it has found its receiver
	Ended                    // the possession has ended by itself: it goes back; if it was received, this was an attempt
	Extend                   // it has more time
	// Unheld: no possession could be made, because the session is not trusted at this instant. When
	// it is, the item is handed out again, under another number.
	Unheld
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

// Settled tells what has become of an item, and answers what was wished. nil: that. Otherwise it
// is not this consumer's any more: ErrLost, with ErrUnknown if it was lost while the settlement was
// under way, which may have been carried out; ErrOverdue; ErrGone; ErrClosing.
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
