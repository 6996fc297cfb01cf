package produce

import (
	"errors"
	"fmt"
	"slices"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/recipes/queue/internal/tail"
)

// Put is the wish that items be in the queue: all of them or none. It is an event. Priority, Delay
// and Ephemeral are the same for all of its items.
type Put struct {
	No     uint64
	GUID   string // of its own: the items' are made from it
	Items  []Item
	Under  []machine.Op // checks that have to succeed in the same transaction
	Stands bool         // it is told from the record: what comes from the mailbox may be settled long ago
	Again  bool         // an earlier incarnation was Sending it
	Back   bool         // its items were in the queue before: they are put even if it is full
}

// Item is to be put.
type Item struct {
	ID        string   // given by the application; "" for none
	Headers   []string // names and values by turns
	Data      []byte
	Priority  int
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
	ErrUnder     = errors.New("what it was to be put under does not hold")
)

// put is a wish that stands.
type put struct {
	Put
	guids []string // of its items; a put that is sent again has the same
	data  [][]byte // what is written of each
	doubt bool     // it may have been carried out
	clock int64    // the servers' time when it waited already; 0: not known
	size  int
}

const (
	most     = 256 << 10 // bytes of a transaction, far below the 1 MB that a server accepts; one put alone may be larger
	mostPuts = 500
	overhead = 512 // of an item: paths, there and back, and ACLs

	// ballast is left free beside a large item: whoever claims it, or has it become a dead letter,
	// writes its data again, beside other things. What nobody could write must not be put.
	ballast = 4 << 10
)

func newPut(ev Put) *put {
	p := &put{Put: ev, doubt: ev.Again}
	for n, i := range ev.Items {
		guid := ev.GUID
		if len(ev.Items) > 1 {
			guid = fmt.Sprintf("%s-%d", guid, n+1)
		}
		record := layout.Record{About: layout.About{ID: i.ID, Headers: i.Headers, Priority: i.Priority}, Body: i.Data}
		p.guids, p.data = append(p.guids, guid), append(p.data, record.Write())
		p.size += overhead + len(p.data[n])
	}
	return p
}

// addition is the znode of its nth item.
func (p *put) addition(n int) tail.Addition {
	i := &p.Items[n]
	at := layout.Item{Bucket: layout.Bucket{Lane: layout.Lane{Priority: i.Priority}}, GUID: p.guids[n]}
	if i.Delay > 0 {
		at.Bucket.Lane, at.Due = layout.SlotOf(p.clock, i.Delay), layout.Due(p.clock, i.Delay)
	}
	return tail.Addition{Lane: at.Bucket.Lane, Head: at.Head(), Data: p.data[n], Ephemeral: i.Ephemeral}
}

// settle ends a wish.
func (m *Machine) settle(p *put, err error) {
	m.puts = slices.DeleteFunc(m.puts, func(q *put) bool { return q == p })
	s := Settled{No: p.No, Err: err}
	if err == nil {
		s.GUIDs = p.guids
	}
	m.requests.Emit(s)
}

// withdraw takes a wish back that was not sent.
func (m *Machine) withdraw(no uint64) {
	at := slices.IndexFunc(m.puts, func(p *put) bool { return p.No == no })
	switch {
	case at < 0: // settled
	case m.puts[at].doubt || m.batch != nil && slices.Contains(m.batch.puts, m.puts[at]):
		m.requests.Emit(Late{No: no})
	default:
		m.settle(m.puts[at], ErrWithdrawn)
	}
}
