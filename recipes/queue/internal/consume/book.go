package consume

import (
	"errors"
	"slices"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
)

// book is what the consumer has: its claims, and the items of them that were handed out.
type book struct {
	own       *own
	graves    *graves
	window    window
	patience  int64 // within which items are to be settled; 0: any time
	claims    []*claim
	items     map[uint64]*item // that were handed out and are not settled
	last      uint64           // the number given last
	untrusted bool             // no possession can be made: items wait
	gains     int              // how often trust was gained
}

// path is that of the claimed znode.
func (b *book) path(c *claim) string {
	return znode.Join(b.own.root.Bucket(c.Bucket), c.name)
}

// read reads what is claimed.
func (b *book) read() {
	o := b.own
	for _, c := range b.claims {
		at := c.Position.String()
		switch {
		case c.stale && !c.foreign && !c.gone:
			o.once(machine.Read{Path: b.path(c)}, key{reading, at})
		case c.items != nil, c.gone, c.foreign, o.closing:
		case c.name == "":
			o.once(machine.List{Path: o.root.Bucket(c.Bucket)}, key{finding, c.Bucket.Name()})
		default:
			o.once(machine.Read{Path: b.path(c)}, key{reading, at})
		}
	}
}

func (b *book) onFound(bucket string, ev machine.Listed) {
	for _, c := range b.claims {
		if c.name == "" && !c.gone && c.Bucket.Name() == bucket {
			c.find(ev.Names, ev.Ask)
		}
	}
}

func (b *book) onRead(at string, ev machine.Seen) {
	for _, c := range b.claims {
		if c.Position.String() == at && (c.stale || c.items == nil && !b.own.closing) {
			b.readOf(c, ev)
		}
	}
	b.handOut()
}

// readOf takes in what was read of a claim.
func (b *book) readOf(c *claim, ev machine.Seen) {
	switch {
	case ev.Code != machine.Done: // it goes on without, and is tried again later
		c.foreign = true
		b.own.skip(ev.Path, ev.Err)
		return
	case !ev.Exists:
		c.gone = true
		return
	}
	records, ok := layout.Unpack(ev.Data, c.znode.Count)
	switch {
	case ok:
		b.own.retries = 0
		for _, i := range c.takeIn(records, ev.Stat.Version) {
			b.drop(i, ErrGone)
		}
	case c.items != nil: // somebody has written something else over its items
		c.gone = true
	default:
		c.foreign, c.strange, c.stale = true, true, false
		b.own.Emit(Skipped{Path: ev.Path, Err: errForeign})
	}
}

// retry has read again what could not be read.
func (b *book) retry() {
	for _, c := range b.claims {
		c.foreign = c.foreign && c.strange
	}
}

// handOut delivers what the journal says may be.
func (b *book) handOut() {
	if b.own.unheld || b.untrusted || b.own.closing {
		return
	}
	for _, c := range b.claims {
		if c.unread() {
			return // what was claimed behind it comes behind it
		}
		for _, i := range c.items {
			if i.no == 0 && i.how == 0 && c.Offered&i.bit() != 0 {
				b.deliver(i)
			}
		}
	}
}

func (b *book) deliver(i *item) {
	c, o := i.claim, b.own
	b.last++
	i.no, i.gains = b.last, b.gains
	d := Deliver{No: i.no, ID: i.record.ID, Record: i.record, Priority: c.Bucket.Lane.Priority, Attempt: i.attempts() + 1}
	if d.ID == "" {
		d.ID = c.znode.Item(i.index)
	}
	i.taken = b.window.deliver(o.unheld)
	if !o.unheld {
		b.items[i.no] = i
		d.Epoch, d.Path, d.Token = o.Epoch(), o.alive(), c.token
		if b.patience > 0 {
			b.expire(i, b.patience)
		}
		if !i.taken {
			o.once(machine.Wake{After: lies}, key{purpose: lying})
		}
	}
	if !o.busy(judging) {
		b.window.quick = true
		o.Ask(machine.Wake{After: slow}, key{purpose: judging})
	}
	o.Emit(d)
}

// lies is how long items that have no receiver keep the mark that makes them count as an attempt if
// the consumer dies, in milliseconds.
const lies = 10

// lain has the marks taken back of those that have no receiver.
func (b *book) lain() {
	for _, i := range b.items {
		i.lay = i.lay || !i.taken && i.how == 0
	}
}

// add takes in new claims, and what has become of the others: those that are missing are over.
func (b *book) written(next map[*claim]layout.Claim, added []*claim, token int64) {
	for _, c := range added {
		c.token, c.since = token, b.own.Last()
	}
	var left []*claim
	for _, c := range append(b.claims, added...) {
		n, ok := next[c]
		if ok {
			c.Claim = n
			c.removed &= n.Left()
			left = append(left, c)
		} else if c.gone {
			for _, i := range c.items {
				b.drop(i, ErrGone)
			}
		}
	}
	b.claims = left
}

// settled tells of items that were settled.
func (b *book) settled(all []*item) {
	for _, i := range all {
		delete(b.items, i.no)
		switch {
		case i.auto:
			b.deliver(i)
		case i.told:
			b.own.Emit(Settled{No: i.no})
		}
		i.claim.forget(i)
	}
	if claimed, _ := b.unsettled(); claimed == 0 && len(all) > 0 && !b.own.unheld {
		b.emptied()
	}
}

// emptied: nothing that was handed out is left.
func (b *book) emptied() {
	b.window.emptied()
	b.own.Cancel(key{purpose: judging})
}

// judge looks whether items have waited for a receiver for too long.
func (b *book) judge() {
	_, ahead := b.unsettled()
	b.window.old(ahead + b.window.out)
}

// lose gives up all claims: somebody else has them, or will. What was being settled may be.
func (b *book) lose(settling []*item) {
	for _, c := range b.claims {
		for _, i := range c.items {
			if slices.Contains(settling, i) {
				b.drop(i, errors.Join(ErrLost, ErrUnknown))
			}
			b.drop(i, ErrLost)
		}
	}
	b.claims = nil
}

// drop tells that an item is not this consumer's any more.
func (b *book) drop(i *item, cause error) {
	if i.no == 0 || b.items[i.no] == nil {
		return
	}
	delete(b.items, i.no)
	b.own.Cancel(key{expiring, number(i.no)})
	switch {
	case i.told:
		b.own.Emit(Settled{No: i.no, Err: cause})
	case i.how == 0:
		b.own.Emit(Dropped{No: i.no, Cause: cause})
	}
}

// unsettled is how many items are claimed and not settled, and ahead how many of them have no
// receiver yet.
func (b *book) unsettled() (all, ahead int) {
	for _, c := range b.claims {
		if c.foreign {
			continue
		}
		all += c.Len()
		ahead += c.Len()
		for _, i := range c.items {
			switch {
			case i.taken || i.how != 0:
				ahead--
			case b.graves.refused && b.graves.spent(i.attempts()): // nobody gets it
				all--
				ahead--
			}
		}
	}
	return all, ahead
}

// free is how many more items can be claimed.
func (b *book) free() int {
	if b.own.closing {
		return 0
	}
	all, ahead := b.unsettled()
	return b.window.free(all, ahead)
}

// wantsMore tells whether there is so much room that a place in line is worth its requests.
func (b *book) wantsMore() bool {
	_, ahead := b.unsettled()
	return b.window.wants(b.free(), ahead)
}

// spare is how many more items may be handed out.
func (b *book) spare() int { return b.window.spare(b.offered()) }

// offered is how many items have been handed out, or may be, that have no receiver yet, and taken
// how many have one.
func (b *book) offered() (offered, taken int) {
	for _, c := range b.claims {
		for _, i := range c.items {
			switch {
			case i.no == 0 || i.how != 0:
			case i.taken:
				taken++
			default:
				offered++
			}
		}
		if c.items == nil && !c.foreign { // otherwise nobody gets them
			offered += ones(c.Offered)
		}
	}
	return offered, taken
}

// takeNext acknowledges, at most once, what can be handed out then. It chooses anew before each
// transaction: what the last one has not taken may not be wanted any more.
func (b *book) takeNext() {
	for _, c := range b.claims {
		for _, i := range c.items {
			if i.auto {
				i.how, i.auto = 0, false
			}
		}
	}
	if b.own.closing {
		b.close()
		return
	}
	spare := b.spare()
	for _, c := range b.claims {
		if c.unread() || c.stale && !c.foreign {
			return
		}
		for _, i := range c.items {
			if i.how == 0 && spare > 0 && !b.graves.spent(i.attempts()) {
				i.how, i.auto = Ack, true
				spare--
			}
		}
	}
}
