package consume

import (
	"cmp"
	"slices"
	"strconv"

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
func (b *holdings) room() int {
	n := 0
	for _, i := range b.held {
		if i.how == 0 && !(b.cfg.Takes && i.received) {
			n++
		}
	}
	if b.closing {
		return 0
	}
	return max(b.wanted-n, 0)
}

// displace gives up what was claimed before in the same place: somebody has deleted that claim, or
// the whole queue. What is being settled is left alone: that may have been carried out.
func (b *holdings) displace(at layout.Item) {
	same := func(i *item) bool { return i.how == 0 && i.at.Bucket == at.Bucket && i.at.Seq == at.Seq }
	if n := slices.IndexFunc(b.held, same); n >= 0 {
		b.end(b.held[n], ErrLost)
	}
}

// hold takes in what was claimed.
func (b *holdings) hold(i *item) {
	b.held = append(b.held, i)
	switch {
	case b.closing:
		i.how = Return
	case b.spent(i.record.Attempts - 1): // so it becomes a dead letter
		i.how = Nack
	default:
		b.handOut(i)
	}
}

func (b *holdings) handOut(i *item) {
	if b.untrusted {
		return
	}
	b.last++
	i.no, i.trustNo, i.received = b.last, b.trustNo, false
	b.items[i.no] = i
	b.expire(i, b.cfg.Visibility)
	b.Emit(Deliver{
		No: i.no, ID: cmp.Or(i.record.ID, i.at.GUID), Record: i.record, Priority: i.at.Bucket.Lane.Priority, Attempt: i.record.Attempts,
		Epoch: b.Epoch(), Path: b.root.Claim(i.at.Bucket, i.at.Seq), Token: i.token, Item: i.at.Path(b.root), Version: i.version,
	})
}

// onWish takes in what is wished about an item.
func (b *holdings) onWish(w Wish) {
	if w.No <= b.cfg.First {
		return
	}
	i := b.items[w.No]
	open := i != nil && i.how == 0
	switch {
	case w.What <= Return && open:
		i.how, i.after = w.What, w.After
		b.Cancel(key{expiring, text(i.no)})
	case w.What <= Return: // given up before
		b.Emit(Settled{No: w.No, Err: ErrLost})
	case i != nil && w.What == Received:
		i.received = true
	case !open:
	case w.What == Unheld:
		b.unhold(i)
	case w.What == Ended:
		b.goBack(i)
	case w.What == Extend:
		b.expire(i, max(w.After, 1))
	}
}

// goBack has an item go back that nobody settles any more: it was an attempt if somebody has
// received it.
func (b *holdings) goBack(i *item) {
	if i.how = Return; i.received {
		i.how = Nack
	}
	b.forget(i)
}

// forget: nothing is wished about an item any more.
func (b *holdings) forget(i *item) {
	delete(b.items, i.no)
	b.Cancel(key{expiring, text(i.no)})
}

// unhold takes an item back that no possession could be made of. It is handed out again.
func (b *holdings) unhold(i *item) {
	b.forget(i)
	again := i.trustNo < b.trustNo // trust came back meanwhile: no TrustGained will follow
	i.no = 0
	if b.untrusted = !again; again {
		b.handOut(i)
	}
}

func (b *holdings) trust() {
	b.untrusted = false
	b.trustNo++
	for _, i := range b.held {
		if i.no == 0 && i.how == 0 {
			b.handOut(i)
		}
	}
}

// longest is how long a timer runs at the most, in milliseconds.
const longest = 24 * 60 * 60 * 1000

// expire has an item go back if it is not settled within some milliseconds; 0: any time.
func (b *holdings) expire(i *item, within int64) {
	if within > 0 {
		first := min(within, longest)
		i.timeLeft = within - first
		b.Ask(machine.Wake{After: first}, key{expiring, text(i.no)})
	}
}

func (b *holdings) onExpired(at string) {
	no, _ := strconv.ParseUint(at, 10, 64) // as it was asked for
	switch i := b.items[no]; {
	case i == nil || i.how != 0:
	case i.timeLeft > 0:
		b.expire(i, i.timeLeft)
	default:
		b.Emit(Settled{No: no, Err: ErrOverdue})
		b.goBack(i)
	}
}

// end tells what has become of an item that is not this consumer's any more; nil: what was wished.
func (b *holdings) end(i *item, cause error) {
	if b.items[i.no] == i {
		b.Emit(Settled{No: i.no, Err: cause})
	}
	b.forget(i)
	b.held = slices.DeleteFunc(b.held, func(j *item) bool { return i == j })
}

// unsettle answers a settlement that was refused. The item can be settled again.
func (b *holdings) unsettle(i *item, err error) {
	if b.items[i.no] != i { // nobody waits: it is tried again
		return
	}
	i.how, i.due, i.after = 0, 0, 0
	b.Emit(Settled{No: i.no, Err: err, Stays: true})
	if b.expire(i, b.cfg.Visibility); b.closing {
		b.dismiss(i)
	}
}

// dismiss has an item go back because the consumer is closing.
func (b *holdings) dismiss(i *item) {
	if i.how == 0 {
		if b.items[i.no] != nil {
			b.Emit(Settled{No: i.no, Err: ErrClosing})
		}
		b.goBack(i)
	}
}

// spent tells whether an item is a dead letter after so many attempts.
func (b *holdings) spent(attempts int) bool { return b.cfg.Attempts > 0 && attempts >= b.cfg.Attempts }

func text(n uint64) string { return strconv.FormatUint(n, 10) }
