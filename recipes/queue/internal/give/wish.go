package give

import (
	"errors"

	"github.com/troupe-go/troupe/machine"
)

// Put is the wish that items be in the queue: all of them or none. It is an event.
type Put struct {
	No     uint64
	Items  []Item
	Stands bool // it is told from the record: what comes from the mailbox may be settled long ago
	Again  bool // an earlier incarnation was Sending it
}

// Move is the wish that items be in the queue if, in the same transaction, these operations
// succeed. It is an event; package take has such wishes.
type Move struct {
	No    uint64
	Items []Item
	Also  []machine.Op
}

// Withdraw takes a wish back. One that is under way is carried out all the same. It is an event.
type Withdraw struct{ No uint64 }

// Item is to be put.
type Item struct {
	GUID      string
	ID        string // given by the application; "" for none
	Data      []byte
	Priority  int
	Shard     int
	Delay     int64 // in milliseconds
	Ephemeral bool
	Together  bool // it goes into a pack with the other items of its wish, and its GUID tells which of them it is: see package place
}

// Settled is what came of a wish. It is an effect.
type Settled struct {
	No  uint64
	Err error // nil: the items are in the queue
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
)

// MootError is why a Move was not carried out: one of the operations that were to succeed with it
// did not.
type MootError struct{ Path string }

// Error says which.
func (e *MootError) Error() string { return "not as it was believed to be: " + e.Path }

// Config says where a machine puts.
type Config struct {
	Site     Site
	GUID     string // of the producer: its receipt's name
	Home     int    // the part of the room that it uses first
	Capacity int    // 0: none is given
	Limit    int    // how many children a bucket gets before it is sealed, or a quarter of how many items from this machine; 0 stands for the usual number
	Floor    uint64 // wishes up to this number were made before the machine: they count only if they stand
	Idle     int64  // after how many milliseconds without a wish it stops; 0: never
}

// usual is the limit of a bucket: its listing stays around 20 kB, and a hundred thousand items are
// 400 buckets.
const usual = 256
