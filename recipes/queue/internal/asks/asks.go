// Package asks keeps account of what a machine has asked, and who takes the answer.
package asks

import "github.com/troupe-go/troupe/machine"

// Taker takes an answer.
type Taker func(machine.Event) []machine.Effect

// Book is the account of one machine.
type Book struct {
	last   uint64
	takers map[uint64]Taker
}

// New makes an empty one.
func New() *Book { return &Book{takers: make(map[uint64]Taker)} }

// Note notes who takes the next answer, and returns its number.
func (b *Book) Note(t Taker) uint64 {
	ask := b.Number()
	b.takers[ask] = t
	return ask
}

// Number is a number of its own, for a timer that outlives epochs.
func (b *Book) Number() uint64 {
	b.last++
	return b.last
}

// Drop forgets one.
func (b *Book) Drop(ask uint64) { delete(b.takers, ask) }

// Clear forgets all: their epoch is over.
func (b *Book) Clear() { clear(b.takers) }

// Len is how many answers are awaited.
func (b *Book) Len() int { return len(b.takers) }

// Answer passes an answer of this epoch to whoever asked; one that nobody awaits is dropped.
func (b *Book) Answer(ev machine.Event, epoch uint64) []machine.Effect {
	of, ask := epoch, uint64(0)
	switch ev := ev.(type) {
	case machine.Listed:
		of, ask = ev.Epoch, ev.Ask
	case machine.Seen:
		of, ask = ev.Epoch, ev.Ask
	case machine.Transacted:
		of, ask = ev.Epoch, ev.Ask
	case machine.Ensured:
		of, ask = ev.Epoch, ev.Ask
	case machine.Removed:
		of, ask = ev.Epoch, ev.Ask
	case machine.Woke:
		ask = ev.Ask
	}
	t := b.takers[ask]
	if t == nil || of != epoch {
		return nil
	}
	delete(b.takers, ask)
	return t(ev)
}
