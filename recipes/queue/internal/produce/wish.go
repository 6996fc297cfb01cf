package produce

import (
	"errors"

	"github.com/troupe-go/troupe/machine"
)

// Put is the wish that items be in the queue: all of them or none. It is an event. Priority, Shard,
// Delay and Ephemeral are the same for all of its items.
type Put struct {
	No     uint64
	GUID   string // of its own: the items' are made from it. One that counts on from the last put's may share its znode
	Items  []Item
	Under  []machine.Op // checks that have to succeed in the same transaction
	Stands bool         // it is told from the record: what comes from the mailbox may be settled long ago
	Again  bool         // an earlier incarnation was Sending it
	Back   bool         // its items were in the queue before: they take no room
}

// Item is to be put.
type Item struct {
	ID        string   // given by the application; "" for none
	Headers   []string // names and values by turns
	Data      []byte
	Priority  int
	Shard     int
	Delay     int64 // in milliseconds
	Ephemeral bool
}

// Withdraw takes a wish back. One that is under way is carried out all the same. It is an event.
type Withdraw struct{ No uint64 }

// Settled is what came of a wish. It is an effect.
type Settled struct {
	No    uint64
	GUIDs []string // of the items, in order, if they are in the queue
	Err   error    // nil: they are
}

// Sending says which wishes are about to be sent: from here on they may have been carried out. It
// is an effect, before the transaction that it is about.
type Sending struct{ Nos []uint64 }

// Late says that a wish can't be withdrawn: it may be carried out, or have been. It is an effect.
type Late struct{ No uint64 }

// Why a wish was not carried out. Any other error is ZooKeeper's refusal.
var (
	ErrFull      = errors.New("the queue is full")
	ErrDuplicate = errors.New("an item with this id is in the queue")
	ErrCapacity  = errors.New("the queue has another capacity")
	ErrWithdrawn = errors.New("withdrawn before anything was sent")
	ErrUnknown   = errors.New("the answer and every trace of it are lost") // its receipt is gone
	ErrEphemeral = errors.New("in a bounded queue, no process returns the capacity of an item that its session's end deletes")
	ErrUnder     = errors.New("what it was to be put under does not hold")
)
