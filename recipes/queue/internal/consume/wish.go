package consume

import (
	"errors"

	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
)

// Errors of settlements and drops.
var (
	ErrLost    = errors.New("the item is not this consumer's any more")
	ErrOverdue = errors.New("the item was not settled in time")
	ErrUnknown = errors.New("the answer was lost, and with it the claim")
	ErrGone    = errors.New("the item was removed")
	ErrClosing = errors.New("the consumer is closing")
)

// Wishes about an item whose number is not greater than [Config.First] are for a machine before
// this one, and are ignored: its items are lost, and whoever asked was answered.

// Demand is how many items are wanted, in the place of [Config.Prefetch].
type Demand struct{ Wanted int }

// Received: an item that was handed out has found its receiver.
type Received struct{ No uint64 }

// Settle says what becomes of an item that was handed out. Only the first for an item counts.
type Settle struct {
	No    uint64
	How   How
	After int64 // of Nack: the pause, in milliseconds
}

// How an item is settled.
type How int

// The ways to settle one.
const (
	Ack    How = iota + 1 // done with: it is deleted
	Nack                  // it goes back, and this was an attempt
	Return                // it goes back as if it had never been handed out: nobody has received it
)

// Unheld: no possession could be made of an item that was handed out, because the session is not
// trusted at this instant. It is handed out again, under another number, when it is.
type Unheld struct{ No uint64 }

// Over: the possession of an item has ended by itself. It goes back; if it was received, this was
// an attempt.
type Over struct{ No uint64 }

// Extend gives an item more time.
type Extend struct {
	No    uint64
	After int64 // from now, in milliseconds
}

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

// Settled answers Settle. ErrLost: the claim was lost before, and nothing was changed; with
// ErrUnknown it was lost while the settlement was under way, which may have been carried out.
// ErrGone: somebody has removed the item.
type Settled struct {
	No  uint64
	Err error
}

// Dropped: the machine has given an item up, which was not settled.
type Dropped struct {
	No    uint64
	Cause error // ErrLost, ErrOverdue, ErrGone or ErrClosing
}

// Skipped: something at this path is in the way and is passed over.
type Skipped struct {
	Path   string
	Err    error
	Blocks bool // nothing can be claimed until it passes
}

// subject is the number of the item that a wish is about, if it is about one.
func subject(wish any) (no uint64, about bool) {
	switch w := wish.(type) {
	case Received:
		return w.No, true
	case Settle:
		return w.No, true
	case Unheld:
		return w.No, true
	case Over:
		return w.No, true
	case Extend:
		return w.No, true
	}
	return 0, false
}
