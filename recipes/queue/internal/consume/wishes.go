package consume

import "github.com/troupe-go/troupe/machine"

// received takes in that an item has found its receiver.
func (b *book) received(no uint64) {
	i := b.items[no]
	switch {
	case b.own.unheld:
		b.window.out--
		b.window.received++
		if b.window.out == 0 {
			b.emptied()
		}
	case i != nil && !i.taken:
		i.taken = true
		b.window.received++
	}
}

func (b *book) settle(ev Settle) {
	i := b.items[ev.No]
	if i == nil || i.how != 0 { // given up before: whoever asked is answered, and nothing is changed
		b.own.Emit(Settled{No: ev.No, Err: ErrLost})
		return
	}
	i.how, i.after, i.told = ev.How, ev.After, true
	b.own.Cancel(key{expiring, number(ev.No)})
}

// unsettle answers a settlement that was refused. The item can be settled again.
func (b *book) unsettle(i *item, err error) {
	if !i.told {
		return
	}
	i.how, i.told, i.due = 0, false, 0
	b.own.Emit(Settled{No: i.no, Err: err})
	switch {
	case b.own.closing:
		b.own.Emit(Dropped{No: i.no, Cause: ErrClosing})
		b.goBack(i)
	case b.patience > 0:
		b.expire(i, b.patience)
	}
}

// over has an item go back whose possession is over.
func (b *book) over(no uint64) {
	if i := b.items[no]; i != nil && i.how == 0 {
		b.goBack(i)
	}
}

// goBack has an item go back that nobody settles any more. A settlement that comes later is too
// late.
func (b *book) goBack(i *item) {
	i.how = i.back()
	delete(b.items, i.no)
	b.own.Cancel(key{expiring, number(i.no)})
}

// unhold takes an item back that no possession could be made of. It is handed out again.
func (b *book) unhold(no uint64) {
	i := b.items[no]
	if i == nil || i.how != 0 {
		return
	}
	delete(b.items, i.no)
	b.own.Cancel(key{expiring, number(i.no)})
	i.no, i.taken, i.lay = 0, false, false
	b.window.delivered--
	if i.gains < b.gains { // it is trusted again, and nobody tells that twice
		b.handOut()
		return
	}
	b.untrusted = true
}

func (b *book) trust() {
	b.untrusted = false
	b.gains++
	b.handOut()
}

// extend gives an item more time.
func (b *book) extend(ev Extend) {
	if i := b.items[ev.No]; i != nil && i.how == 0 {
		b.expire(i, ev.After)
	}
}

// expire has an item go back if it is not settled within some milliseconds.
func (b *book) expire(i *item, within int64) {
	first := min(max(within, 1), longest)
	i.rest = max(within-first, 0)
	b.own.Ask(machine.Wake{After: first}, key{expiring, number(i.no)})
}

func (b *book) onExpired(no uint64) {
	i := b.items[no]
	switch {
	case i == nil, i.how != 0:
	case i.rest > 0:
		b.expire(i, i.rest)
	default:
		b.own.Emit(Dropped{No: no, Cause: ErrOverdue})
		b.goBack(i)
	}
}

// close has everything go back that is not settled, and that nobody wishes to settle.
func (b *book) close() {
	for _, c := range b.claims {
		for _, i := range c.items {
			if i.how != 0 {
				continue
			}
			if i.no != 0 && b.items[i.no] != nil {
				b.own.Emit(Dropped{No: i.no, Cause: ErrClosing})
			}
			b.goBack(i)
		}
	}
}
