package consume

import (
	"cmp"
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

	no    uint64 // 0: not handed out
	taken bool   // it has found its receiver
	how   How    // what is wished; 0: nothing
	after int64  // of Nack: the pause
	due   int64  // when that is over; 0: not known
	told  bool   // the wish is answered with Settled
	freed bool   // its id is free, or has never been
	rest  int64  // of the time to settle it in, when the timer that runs is over
	gains int    // when it was handed out
	alone bool   // a settlement was refused, perhaps for it: it is settled behind the others, and alone
}

// book is what the consumer has: items that it has claimed and not settled.
type book struct {
	*base
	held      []*item
	items     map[uint64]*item // that are handed out, by number
	last      uint64           // the number given last
	wanted    int              // how many it may have
	untrusted bool             // no possession can be made: items wait
	gains     int              // how often trust was gained
}

// room is how many more items can be claimed. One that is being settled takes none: so the look for
// the next goes in the same trip.
func (b *book) room() int {
	n := 0
	for _, i := range b.held {
		if i.how == 0 && !(b.cfg.Takes && i.taken) {
			n++
		}
	}
	if b.closing {
		return 0
	}
	return max(b.wanted-n, 0)
}

func (b *book) had(at layout.Item) bool {
	for _, i := range b.held {
		if i.at == at {
			return true
		}
	}
	return false
}

// hold takes in what was claimed.
func (b *book) hold(i *item) {
	b.held = append(b.held, i)
	if b.closing {
		i.how = Return
	} else {
		b.handOut(i)
	}
}

func (b *book) handOut(i *item) {
	if b.untrusted {
		return
	}
	b.last++
	i.no, i.gains, i.taken = b.last, b.gains, false
	b.items[i.no] = i
	b.expire(i, b.cfg.Visibility)
	b.Emit(Deliver{
		No: i.no, ID: cmp.Or(i.record.ID, i.at.GUID), Record: i.record, Priority: i.at.Bucket.Lane.Priority, Attempt: i.record.Attempts,
		Epoch: b.Epoch(), Path: b.root.Claim(i.at.Bucket, i.at.Seq), Token: i.token, Item: i.at.Path(b.root), Version: i.version,
	})
}

// onWish takes in what is wished about an item.
func (b *book) onWish(ev machine.Event) {
	no, about := subject(ev)
	if about && no <= b.cfg.First {
		return
	}
	i := b.items[no]
	switch ev := ev.(type) {
	case Demand:
		b.wanted = ev.Wanted
	case Received:
		if i != nil {
			i.taken = true
		}
	case Settle:
		b.settle(i, ev)
	case Unheld:
		b.unhold(i)
	case Over:
		if i != nil && i.how == 0 {
			b.goBack(i)
		}
	case Extend:
		if i != nil && i.how == 0 {
			b.expire(i, max(ev.After, 1))
		}
	}
}

func (b *book) settle(i *item, ev Settle) {
	if i == nil || i.how != 0 { // given up before
		b.Emit(Settled{No: ev.No, Err: ErrLost})
		return
	}
	i.how, i.after, i.told = ev.How, ev.After, true
	b.Cancel(key{expiring, text(i.no)})
}

// goBack has an item go back that nobody settles any more: it was an attempt if somebody has
// received it.
func (b *book) goBack(i *item) {
	if i.how = Return; i.taken {
		i.how = Nack
	}
	b.forget(i)
}

// forget: nothing is wished about an item any more.
func (b *book) forget(i *item) {
	delete(b.items, i.no)
	b.Cancel(key{expiring, text(i.no)})
}

// unhold takes an item back that no possession could be made of. It is handed out again.
func (b *book) unhold(i *item) {
	if i == nil || i.how != 0 { // given up meanwhile
		return
	}
	b.forget(i)
	again := i.gains < b.gains // it is trusted again, and nobody tells that twice
	i.no = 0
	if b.untrusted = !again; again {
		b.handOut(i)
	}
}

func (b *book) trust() {
	b.untrusted = false
	b.gains++
	for _, i := range b.held {
		if i.no == 0 && i.how == 0 {
			b.handOut(i)
		}
	}
}

// longest is how long a timer runs at the most, in milliseconds.
const longest = 24 * 60 * 60 * 1000

// expire has an item go back if it is not settled within some milliseconds; 0: any time.
func (b *book) expire(i *item, within int64) {
	if within > 0 {
		first := min(within, longest)
		i.rest = within - first
		b.Ask(machine.Wake{After: first}, key{expiring, text(i.no)})
	}
}

func (b *book) onExpired(at string) {
	no, _ := strconv.ParseUint(at, 10, 64) // as it was asked for
	switch i := b.items[no]; {
	case i == nil || i.how != 0:
	case i.rest > 0:
		b.expire(i, i.rest)
	default:
		b.Emit(Dropped{No: no, Cause: ErrOverdue})
		b.goBack(i)
	}
}

// over tells what has become of an item that is not this consumer's any more; nil: what was wished.
func (b *book) over(i *item, cause error) {
	switch {
	case i.told:
		b.Emit(Settled{No: i.no, Err: cause})
	case b.items[i.no] != nil && cause != nil:
		b.Emit(Dropped{No: i.no, Cause: cause})
	}
	b.forget(i)
	i.told = false
	for n, j := range b.held {
		if i == j {
			b.held = append(b.held[:n:n], b.held[n+1:]...)
			return
		}
	}
}

// unsettle answers a settlement that was refused. The item can be settled again.
func (b *book) unsettle(i *item, err error) {
	if !i.told {
		return
	}
	i.how, i.told, i.due, i.after = 0, false, 0, 0
	b.Emit(Settled{No: i.no, Err: err})
	if b.expire(i, b.cfg.Visibility); b.closing {
		b.dismiss(i)
	}
}

// dismiss has an item go back because the consumer is closing.
func (b *book) dismiss(i *item) {
	if i.how == 0 {
		if b.items[i.no] != nil {
			b.Emit(Dropped{No: i.no, Cause: ErrClosing})
		}
		b.goBack(i)
	}
}

// spent tells whether an item is a dead letter after so many attempts.
func (b *book) spent(attempts int) bool { return b.cfg.Attempts > 0 && attempts >= b.cfg.Attempts }

func text(n uint64) string { return strconv.FormatUint(n, 10) }
