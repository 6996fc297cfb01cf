package consume

import (
	"slices"

	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
	"github.com/troupe-go/troupe/session"
)

// item is one that is free and was read, or that is claimed.
type item struct {
	at      layout.Item
	data    []byte
	record  layout.Record // what the data say, with the attempts as they are in ZooKeeper
	version int32
	owned   bool // by its producer's session: it cannot be moved
	token   int64

	no       uint64 // 0: not handed out
	received bool   // it has found its receiver
	how      Kind   // Ack, Nack or Return, if that is asked for
	after    int64  // of Nack: the pause
	failure  []byte // of Nack; empty and not nil: it was refused, perhaps for its size
	put      bool   // a Put is under way that settles it
	doubt    bool   // the answer to a settlement was lost
	noID     bool   // no id has to be freed: it has none, or its znode is gone or cannot be deleted
	alone    bool   // a settlement was refused, perhaps for it: it is settled behind the others, and alone
}

// next is what is written of it when it goes back. The body of that which was handed out is the
// receiver's.
func (i *item) next() layout.Record {
	record, _ := layout.ParseRecord(i.data)
	if len(i.failure) > 0 {
		record.Failure = i.failure
	}
	return record
}

// doubts: the answer to a settlement was lost. A server for which it is too large hangs up.
func (i *item) doubts() {
	if i.doubt = true; len(i.data) > tooLarge {
		i.failure = []byte{}
	}
}

// holdings are what the consumer has: items that it has claimed and not settled.
type holdings struct {
	base   *base
	held   []*item
	items  map[uint64]*item // that are handed out, by number
	last   uint64           // the number given last
	wanted int              // how many it may have
}

// wants is how many more items can be claimed. One that is being settled takes none: so the listing
// for the next goes in the same trip.
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

// hold takes in what was claimed.
func (h *holdings) hold(i *item) {
	h.held = append(h.held, i)
	switch {
	case h.base.closing:
		i.how = Return
	case h.exhausted(i.record.Attempts - 1): // so it becomes a dead letter
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

// onCommand takes in what is said of an item.
func (h *holdings) onCommand(w Command) {
	if w.No <= h.base.cfg.First {
		return
	}
	i := h.items[w.No]
	open := i != nil && i.how == 0
	switch {
	case w.Kind <= Return && open:
		i.how, i.after, i.failure = w.Kind, w.After, w.Failure
	case w.Kind <= Return: // given up before
		h.base.Requests.Emit(Settled{No: w.No, Err: session.ErrLost})
	case i != nil && w.Kind == Received:
		i.received = true
	case !open:
	case w.Kind == Unheld:
		h.goBack(i)
		h.base.pause() // until it is trusted, or tries again
	case w.Kind == Ended:
		h.goBack(i)
	}
}

// goBack has an item go back that nobody settles any more: it was an attempt if somebody has
// received it.
func (h *holdings) goBack(i *item) {
	if i.how = Return; i.received {
		i.how = Nack
	}
	delete(h.items, i.no)
}

// end tells what has become of an item that is not this consumer's any more; nil: what was asked.
func (h *holdings) end(i *item, cause error) {
	if h.items[i.no] == i {
		h.base.Requests.Emit(Settled{No: i.no, Err: cause})
	}
	delete(h.items, i.no)
	h.held = slices.DeleteFunc(h.held, func(j *item) bool { return i == j })
}

// unsettle answers a settlement that was refused. The item can be settled again.
func (h *holdings) unsettle(i *item, err error) {
	if h.items[i.no] != i { // nobody waits: it is tried again
		return
	}
	i.how, i.after = 0, 0
	h.base.Requests.Emit(Settled{No: i.no, Err: err, Stays: true})
	if h.base.closing {
		h.dismiss(i)
	}
}

// dismiss has an item go back because the consumer is closing.
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
