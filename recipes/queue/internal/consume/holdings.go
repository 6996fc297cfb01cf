package consume

import (
	"slices"

	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/session"
)

// item is an item that is free and was read, or that is claimed.
type item struct {
	// As it was read; and once it is claimed, as the claim has left it.
	at      layout.Item
	data    []byte
	record  layout.Record // the meaning of data, with the attempts as they are in ZooKeeper
	version int32
	owned   bool  // by its producer's session: such an item cannot be moved
	token   int64 // of the claim
	// At the application, and how it is settled. If how is 0 the fields behind it have no effect.
	no       uint64 // 0: not handed out
	received bool
	how      Kind   // Ack, Nack or Return; 0: there was no command yet
	after    int64  // of Nack: the pause
	failure  []byte // of Nack; empty and not nil: writing it was refused, perhaps for its size
	put      bool   // a Put is under way that settles the item
	doubt    bool   // the answer to a settlement was lost
	noID     bool   // no id has to be freed: the item has none, or the id's znode is gone or cannot be deleted
	alone    bool   // a settlement was refused, perhaps for this item: it is settled behind the others, and alone
}

// next is the record that is written when the item goes back. Its body is parsed from data: the
// receiver may have changed the body that was handed out.
func (i *item) next() layout.Record {
	record, _ := layout.ParseRecord(i.data)
	if len(i.failure) > 0 {
		record.Failure = i.failure
	}
	return record
}

// doubts takes in that the answer to a settlement was lost. A server hangs up when a request is too
// large for it: the next try is without the failure.
func (i *item) doubts() {
	if i.doubt = true; len(i.data) > tooLarge {
		i.failure = []byte{}
	}
}

// holdings are the items that the consumer has claimed and not settled.
type holdings struct {
	base   *base
	held   []*item
	items  map[uint64]*item // those that are handed out, by number
	last   uint64           // the number given last
	wanted int              // how many the consumer may have
}

// wants is how many more items can be claimed. An item that is being settled takes no room: so the
// listing for the next goes in the same trip.
func (h *holdings) wants() int {
	n := 0
	for _, i := range h.held {
		if i.how == 0 && !(h.base.cfg.Takes && i.received) {
			n++
		}
	}
	if h.base.closing {
		return 0
	}
	return max(h.wanted-n, 0)
}

// hold takes in an item that was claimed.
func (h *holdings) hold(i *item) {
	h.held = append(h.held, i)
	switch {
	case h.base.closing, !h.base.gate.open:
		i.how = Return
	case h.exhausted(i.record.Attempts - 1): // Nack makes it a dead letter
		i.how = Nack
	default:
		h.handOut(i)
	}
}

func (h *holdings) handOut(i *item) {
	h.last++
	i.no = h.last
	h.items[i.no] = i
	h.base.Requests.Emit(Deliver{
		No: i.no, GUID: i.at.GUID, Owned: i.owned, Record: i.record, Priority: i.at.Bucket.Lane.Priority, Attempt: i.record.Attempts,
		Epoch: h.base.Requests.Epoch(), Path: h.base.root.Claim(i.at.Bucket, i.at.Seq), Token: i.token, Item: i.at.Path(h.base.root), Version: i.version,
	})
}

func (h *holdings) onCommand(c Command) {
	if c.No <= h.base.cfg.First { // for a former machine
		return
	}
	i := h.items[c.No]
	open := i != nil && i.how == 0
	switch {
	case c.Kind <= Return && open:
		i.how, i.after, i.failure = c.Kind, c.After, c.Failure
		i.received = i.received && c.Kind != Return // after a refusal it goes back without an attempt, too
	case c.Kind <= Return: // given up before
		h.base.Requests.Emit(Settled{No: c.No, Err: session.ErrLost})
	case i != nil && c.Kind == Received:
		i.received = true
	case !open:
	case c.Kind == Unheld:
		h.goBack(i)
		h.base.pause() // TrustGained ends the pause before its time
	case c.Kind == Ended:
		h.goBack(i)
	}
}

// goBack has an item go back that the application does not settle any more. If the item was
// received, this was an attempt.
func (h *holdings) goBack(i *item) {
	i.how = Return
	if i.received {
		i.how = Nack
	}
	delete(h.items, i.no)
}

// end forgets an item that is not this consumer's any more. The cause is nil if the command was
// carried out.
func (h *holdings) end(i *item, cause error) {
	if h.items[i.no] == i {
		h.base.Requests.Emit(Settled{No: i.no, Err: cause})
	}
	delete(h.items, i.no)
	h.held = slices.DeleteFunc(h.held, func(j *item) bool { return i == j })
}

// unsettle answers a command that was refused. The item can be settled again.
func (h *holdings) unsettle(i *item, err error) {
	if h.items[i.no] != i { // the application waits for no answer: the machine tries again
		return
	}
	i.how, i.after = 0, 0
	h.base.Requests.Emit(Settled{No: i.no, Err: err, Stays: true})
	if h.base.closing {
		h.dismiss(i)
	}
}

// dismiss has an item go back because the consumer is closing, unless a command has come.
func (h *holdings) dismiss(i *item) {
	if i.how == 0 {
		if h.items[i.no] != nil {
			h.base.Requests.Emit(Settled{No: i.no, Err: session.ErrClosed})
		}
		h.goBack(i)
	}
}

// exhausted tells whether an item is a dead letter after so many attempts.
func (h *holdings) exhausted(attempts int) bool {
	return h.base.cfg.Attempts > 0 && attempts >= h.base.cfg.Attempts
}
