package consume

import (
	"cmp"
	"slices"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
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
	how      What   // Ack, Nack or Return, if that is wished
	after    int64  // of Nack: the pause
	due      int64  // when that is over; 0: not known
	doubt    bool   // the answer to a settlement was lost
	idFreed  bool   // its id is free, or has never been
	timeLeft int64  // to settle it in, when the timer that runs is over
	trustNo  int    // how often trust had been gained when it was handed out
	alone    bool   // a settlement was refused, perhaps for it: it is settled behind the others, and alone
}

// holdings are what the consumer has: items that it has claimed and not settled.
type holdings struct {
	*base
	held      []*item
	items     map[uint64]*item // that are handed out, by number
	last      uint64           // the number given last
	wanted    int              // how many it may have
	untrusted bool             // no possession can be made: items wait
	trustNo   int              // how often trust was gained
}

// room is how many more items can be claimed. One that is being settled takes none: so the look for
// the next goes in the same trip.
func (h *holdings) room() int {
	n := 0
	for _, i := range h.held {
		if i.how == 0 && !(h.cfg.Takes && i.received) {
			n++
		}
	}
	if h.closing {
		return 0
	}
	return max(h.wanted-n, 0)
}

// displace gives up what was claimed before in the same place: somebody has deleted that claim, or
// the whole queue. What is being settled is left alone: that may have been carried out.
func (h *holdings) displace(at layout.Item) {
	same := func(i *item) bool { return i.how == 0 && i.at.Bucket == at.Bucket && i.at.Seq == at.Seq }
	if n := slices.IndexFunc(h.held, same); n >= 0 {
		h.end(h.held[n], ErrLost)
	}
}

// hold takes in what was claimed.
func (h *holdings) hold(i *item) {
	h.held = append(h.held, i)
	switch {
	case h.closing:
		i.how = Return
	case h.spent(i.record.Attempts - 1): // so it becomes a dead letter
		i.how = Nack
	default:
		h.handOut(i)
	}
}

func (h *holdings) handOut(i *item) {
	if h.untrusted {
		return
	}
	h.last++
	i.no, i.trustNo, i.received = h.last, h.trustNo, false
	h.items[i.no] = i
	h.expire(i, h.cfg.Visibility)
	h.Emit(Deliver{
		No: i.no, ID: cmp.Or(i.record.ID, i.at.GUID), Record: i.record, Priority: i.at.Bucket.Lane.Priority, Attempt: i.record.Attempts,
		Epoch: h.Epoch(), Path: h.root.Claim(i.at.Bucket, i.at.Seq), Token: i.token, Item: i.at.Path(h.root), Version: i.version,
	})
}

// onWish takes in what is wished about an item.
func (h *holdings) onWish(w Wish) {
	if w.No <= h.cfg.First {
		return
	}
	i := h.items[w.No]
	open := i != nil && i.how == 0
	switch {
	case w.What <= Return && open:
		i.how, i.after = w.What, w.After
		h.Cancel(key{purpose: expiring, no: i.no})
	case w.What <= Return: // given up before
		h.Emit(Settled{No: w.No, Err: ErrLost})
	case i != nil && w.What == Received:
		i.received = true
	case !open:
	case w.What == Unheld:
		h.unhold(i)
	case w.What == Ended:
		h.goBack(i)
	case w.What == Extend:
		h.expire(i, max(w.After, 1))
	}
}

// goBack has an item go back that nobody settles any more: it was an attempt if somebody has
// received it.
func (h *holdings) goBack(i *item) {
	if i.how = Return; i.received {
		i.how = Nack
	}
	h.forget(i)
}

// forget: nothing is wished about an item any more.
func (h *holdings) forget(i *item) {
	delete(h.items, i.no)
	h.Cancel(key{purpose: expiring, no: i.no})
}

// unhold takes an item back that no possession could be made of. It is handed out again.
func (h *holdings) unhold(i *item) {
	h.forget(i)
	again := i.trustNo < h.trustNo // trust came back meanwhile: no TrustGained will follow
	i.no = 0
	if h.untrusted = !again; again {
		h.handOut(i)
	}
}

func (h *holdings) trust() {
	h.untrusted = false
	h.trustNo++
	for _, i := range h.held {
		if i.no == 0 && i.how == 0 {
			h.handOut(i)
		}
	}
}

// longest is how long a timer runs at the most, in milliseconds.
const longest = 24 * 60 * 60 * 1000

// expire has an item go back if it is not settled within some milliseconds; 0: any time.
func (h *holdings) expire(i *item, within int64) {
	if within > 0 {
		first := min(within, longest)
		i.timeLeft = within - first
		h.Ask(machine.Wake{After: first}, key{purpose: expiring, no: i.no})
	}
}

func (h *holdings) onExpired(no uint64) {
	switch i := h.items[no]; {
	case i == nil || i.how != 0:
	case i.timeLeft > 0:
		h.expire(i, i.timeLeft)
	default:
		h.Emit(Settled{No: no, Err: ErrOverdue})
		h.goBack(i)
	}
}

// end tells what has become of an item that is not this consumer's any more; nil: what was wished.
func (h *holdings) end(i *item, cause error) {
	if h.items[i.no] == i {
		h.Emit(Settled{No: i.no, Err: cause})
	}
	h.forget(i)
	h.held = slices.DeleteFunc(h.held, func(j *item) bool { return i == j })
}

// unsettle answers a settlement that was refused. The item can be settled again.
func (h *holdings) unsettle(i *item, err error) {
	if h.items[i.no] != i { // nobody waits: it is tried again
		return
	}
	i.how, i.due, i.after = 0, 0, 0
	h.Emit(Settled{No: i.no, Err: err, Stays: true})
	if h.expire(i, h.cfg.Visibility); h.closing {
		h.dismiss(i)
	}
}

// dismiss has an item go back because the consumer is closing.
func (h *holdings) dismiss(i *item) {
	if i.how == 0 {
		if h.items[i.no] != nil {
			h.Emit(Settled{No: i.no, Err: ErrClosing})
		}
		h.goBack(i)
	}
}

// spent tells whether an item is a dead letter after so many attempts.
func (h *holdings) spent(attempts int) bool { return h.cfg.Attempts > 0 && attempts >= h.cfg.Attempts }
