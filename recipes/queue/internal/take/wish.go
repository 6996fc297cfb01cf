package take

import (
	"errors"

	"github.com/troupe-go/troupe/recipes/queue/internal/give"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
)

// What the face tells.
type (
	// Demand is how many items are wanted, those included that this incarnation has delivered.
	Demand struct {
		Incarnation uint64
		Total       int64
	}

	// Settle ends an item. Repeats are ignored.
	Settle struct {
		No  uint64
		How How
	}

	// Extend lets an item's time run from now on.
	Extend struct {
		No    uint64
		After int64 // milliseconds
	}

	// Over says that the possession of an item was lost, or that it could not be had.
	Over struct{ No uint64 }

	// Unheld says that an item can't be had yet: it is delivered again when that may have changed.
	Unheld struct {
		No   uint64
		Turn uint64 // of its Deliver
	}
)

// How an item is settled.
type How int

// The ways.
const (
	Ack    How = iota + 1
	Nack       // it could not be dealt with: after too many attempts it goes to the dead letters
	Return     // nobody has looked at it
)

// What the face gets.
type (
	// Deliver is an item that was taken.
	Deliver struct {
		No       uint64
		Turn     uint64 // how often trust or the connection had come back by then
		Epoch    uint64
		Claim    string // its path; "" with AutoAck
		Token    int64
		ID       string
		Data     []byte
		Priority int
		Attempt  int
	}

	// Settled is what came of a Settle.
	Settled struct {
		No  uint64
		Err error
	}

	// Lost says that an item which could not be had yet is lost.
	Lost struct{ No uint64 }

	// Drop ends the possession of an item.
	Drop struct {
		No    uint64
		Cause error // ErrOverdue, ErrDeleted, ErrClosing
	}
)

// Why an item was lost, or could not be settled.
var (
	ErrLost    = errors.New("somebody else's by now")
	ErrUnknown = errors.New("the item is gone, and so is what would tell by whom") // with ErrLost
	ErrOverdue = errors.New("not settled in time")
	ErrClosing = errors.New("the consumer was closed")
	ErrDeleted = errors.New("the claim was deleted")
)

// Config says what a machine takes, and how.
type Config struct {
	Site     give.Site
	Parse    func(name string) (place.Item, bool) // in another layout: of an item's name
	Taken    string                               // in another layout: where the claims lie; "" if it has none
	Dead     place.Root                           // of the dead letters
	GUID     string                               // of this incarnation: what its claims' data are
	Producer string                               // of this incarnation: its receipt's name

	Incarnation uint64
	First       uint64 // its first item has the number after this

	AutoAck     bool
	MaxAttempts int   // 0: any number
	Visibility  int64 // how long an item may take, in milliseconds; 0: any time
	Shards      int   // how many there are
	Shard       int   // where it begins among the shards of one priority
	Home        int   // the part of a bounded queue's room to which it gives back
	Idle        int64 // after how many milliseconds with nothing to do it stops; 0: never
}

// Bounds of what one transaction claims or settles, and of what is asked at a time.
const (
	most      = 256
	least     = 32 // where others go for the same
	mostBytes = 256 << 10
	mostLists = 16
)
