package consume

import (
	"slices"

	"github.com/troupe-go/troupe/machine"
)

// How long items are kept that nobody asks for, in milliseconds: the next one who does may be on
// its way, and what goes back takes a transaction here and one at whoever claims it.
const (
	keeps       = 100
	keepsStream = 1000
)

// hoard waits to give back what others may wait for.
func (b *book) hoard() {
	k := key{purpose: hoarding}
	switch {
	case b.own.closing, len(b.surplus()) == 0:
		b.own.Cancel(k)
	case b.window.stream:
		b.own.once(machine.Wake{After: keepsStream}, k)
	default:
		b.own.once(machine.Wake{After: keeps}, k)
	}
}

// giveBack has the surplus go back.
func (b *book) giveBack() {
	for _, c := range b.surplus() {
		for _, i := range c.items {
			b.goBack(i)
		}
	}
}

// surplus are claims that are not needed: without a stream when nobody waits, and with one what is
// beyond the window, which has become smaller. A claim of which somebody has an item is kept.
func (b *book) surplus() (claims []*claim) {
	all, _ := b.unsettled()
	for _, c := range slices.Backward(b.claims) {
		switch {
		case len(c.items) == 0, c.gone, c.foreign, slices.ContainsFunc(c.items, func(i *item) bool { return i.no != 0 || i.how != 0 }):
		case b.window.stream && all-c.Len() < b.window.size:
			return claims
		case b.window.stream || b.window.waiting() == 0:
			claims = append(claims, c)
			all -= c.Len()
		}
	}
	return claims
}
