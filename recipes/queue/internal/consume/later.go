package consume

import (
	"cmp"
	"slices"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
)

// later is what a look shows of the items that are not due. Whoever looks moves what is. When the
// next will be, the first and the second in line are woken.
type later struct {
	*base
	now   int64 // the servers' clock has passed this
	fresh bool  // it shows this, in this step
	due   []layout.Item
	next  int64 // when there may be more; 0: never
	alarm int64 // for which a timer runs; 0: none does
}

// toList are the slots in which something may be due, and the one behind them.
func (l *later) toList(slots []layout.Bucket) (some []layout.Bucket) {
	for _, b := range slots {
		if some = append(some, b); b.Lane.Slot > l.now || len(some) == slotsTogether {
			break
		}
	}
	return some
}

// slotsTogether is how many slots a look lists.
const slotsTogether = 64

// take takes in what is in some of the slots. Of the others it is known that nothing in them is due
// before their time.
func (l *later) take(slots, asked []layout.Bucket, answers []machine.Event) {
	l.due, l.next = nil, 0
	for _, b := range slots {
		n := slices.Index(asked, b)
		ev := machine.Listed{}
		if n >= 0 {
			ev, _ = answers[n].(machine.Listed)
		}
		switch {
		case n < 0:
			l.awaits(max(b.Lane.Slot, l.now+1000)) // there are many: a look a second, until those before are empty
		case ev.Code == machine.NoNode:
		case ev.Code != machine.Done:
			l.skip(l.root.Bucket(b), ev.Err)
		case len(ev.Names) > 0:
			l.sort(b, ev.Names)
		case b.Lane.Slot <= l.now:
			l.tidy(machine.Op{Do: machine.Delete, Path: l.root.Bucket(b), Version: machine.Any})
		default:
			l.awaits(b.Lane.Slot)
		}
	}
	slices.SortFunc(l.due, func(a, b layout.Item) int {
		return cmp.Or(cmp.Compare(a.Due, b.Due), a.Bucket.Compare(b.Bucket), cmp.Compare(a.Seq, b.Seq))
	})
}

func (l *later) sort(b layout.Bucket, names []string) {
	for _, name := range names {
		if due, ok := layout.DueOf(name); ok && due > l.now { // most are not taken apart
			l.awaits(due)
			continue
		}
		i, ok := layout.ParseItem(b, name)
		switch path := znode.Join(l.root.Bucket(b), name); {
		case l.avoided[path]:
		case !ok:
			l.skip(path, errForeign)
		default:
			l.due = append(l.due, i)
		}
	}
}

func (l *later) awaits(due int64) {
	if l.next == 0 || due < l.next {
		l.next = due
	}
}

// longest is how long a timer runs at the most, in milliseconds.
const longest = 24 * 60 * 60 * 1000

// saw takes in the servers' clock, as a transaction in this step has shown it.
func (l *later) saw(now int64) { l.now, l.fresh = max(l.now, now), true }

// await has a timer run for what is next, if this consumer is to look then: the second so much
// later. True: it is to look now.
func (l *later) await(wanted bool, behind int64) bool {
	k := key{purpose: waiting}
	switch {
	case !wanted || l.next == 0:
		l.Cancel(k)
		l.alarm = 0
	case l.next <= l.now:
		return true
	case l.alarm != 0 && l.alarm <= l.next:
	case l.fresh:
		after := min(l.next-l.now, longest)
		l.alarm = l.now + after
		l.Ask(machine.Wake{After: after + behind}, k)
	default:
		l.tell()
	}
	return false
}

// tell has the servers tell the time: nobody watches the data of line/.
func (l *later) tell() {
	op := machine.Op{Do: machine.Set, Path: l.root.Line(), Version: machine.Any}
	l.once(machine.Transact{Ops: []machine.Op{op}}, key{purpose: telling})
}

// rang: what was waited for is due.
func (l *later) rang() {
	l.now, l.alarm, l.force = max(l.now, l.alarm), 0, true
}
