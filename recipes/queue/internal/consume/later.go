package consume

import (
	"cmp"
	"math"
	"slices"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipes/queue/internal/layout"
)

// later is what listings show of the items with a delay. A consumer that lists moves the due items.
// The first in line, and the second, have a timer that goes off when the next item is due.
type later struct {
	base   *base
	now    int64 // the servers' clock has passed this time
	fresh  bool  // the servers' clock was read in this step
	due    []layout.Item
	first  map[layout.Bucket]int64 // when the first item of a sealed bucket is due, which gets no more items
	next   int64                   // when the next item may be due; 0: never
	alarm  int64                   // the time for which the timer is set; 0: no timer
	behind int64                   // so much later it goes off: the head start of the first
}

// toList are the buckets in which items may be due, and the next one.
func (l *later) toList(all []layout.Bucket) (some []layout.Bucket) {
	for _, b := range all {
		if l.first[b] > l.now {
			continue
		}
		some = append(some, b)
		if b.Lane.Slot > l.now || len(some) == delayedTogether {
			break
		}
	}
	return some
}

const delayedTogether = 64 // so many of these buckets a listing reads, at the most

// listed takes in the contents of some of the buckets. In the others nothing is due before their
// time.
func (l *later) listed(all, asked []layout.Bucket, answers []machine.Event) {
	first := l.first
	l.due, l.next, l.first = nil, 0, make(map[layout.Bucket]int64)
	for k, b := range all {
		sealed := k+1 < len(all) && all[k+1].Lane == b.Lane // there is a next bucket
		if sealed {
			l.first[b] = first[b]
		}
		n := slices.Index(asked, b)
		ev := machine.Listed{}
		if n >= 0 {
			ev, _ = answers[n].(machine.Listed)
		}
		switch {
		case n < 0: // not read
			at := max(b.Lane.Slot, l.first[b])
			if len(asked) == delayedTogether { // there are many: a listing a second, until all are listed
				at = max(at, l.now+1000)
			}
			l.awaits(at)
		case ev.Code == machine.NoNode: // deleted meanwhile
		case ev.Code != machine.Done:
			l.base.skip(l.base.root.Bucket(b), ev.Err)
		case len(ev.Names) > 0:
			if due := l.sort(b, ev.Names); sealed {
				l.first[b] = due
			}
		case b.Lane.Slot <= l.now: // empty, and its time has begun: a producer that needs it makes it again
			l.base.tidy(machine.Op{Do: machine.Delete, Path: l.base.root.Bucket(b), Version: machine.Any})
		default: // empty: items may be due from then on
			l.awaits(b.Lane.Slot)
		}
	}
	slices.SortFunc(l.due, func(a, b layout.Item) int {
		return cmp.Or(cmp.Compare(a.Due, b.Due), a.Bucket.Compare(b.Bucket), cmp.Compare(a.Seq, b.Seq))
	})
}

// sort takes in the items of a bucket, and returns when the first of them is due.
func (l *later) sort(b layout.Bucket, names []string) (first int64) {
	first = math.MaxInt64
	for _, name := range names {
		due, ok := layout.DueOf(name)
		first = min(first, due)
		if ok && due > l.now { // most names need not be parsed
			l.awaits(due)
			continue
		}
		i, ok := layout.ParseItem(b, name)
		switch path := znode.Join(l.base.root.Bucket(b), name); {
		case l.base.avoided[path]:
		case !ok:
			l.base.skip(path, errForeign)
		default:
			l.due = append(l.due, i)
		}
	}
	return first
}

func (l *later) awaits(due int64) {
	if l.next == 0 || due < l.next {
		l.next = due
	}
}

const longest = 24 * 60 * 60 * 1000 // milliseconds that a timer runs, at the most

// saw takes in the servers' clock, from the answer to a transaction.
func (l *later) saw(now int64) { l.now, l.fresh = max(l.now, now), true }

// await tells whether it is time to list. Otherwise, if this consumer is one of those that list
// then, a timer runs until the next item is due; behind is the wait of the second in line.
func (l *later) await(listens bool, behind int64) bool {
	k := key{purpose: waiting}
	switch {
	case !listens || l.next == 0:
		l.base.Requests.Cancel(k)
		l.alarm = 0
	case l.next <= l.now:
		return true
	case l.alarm != 0 && l.alarm <= l.next:
	case l.fresh:
		after := min(l.next-l.now, longest)
		l.alarm, l.behind = l.now+after, behind
		l.base.Requests.Ask(machine.Wake{After: after + behind}, k)
	default: // the answer tells the time; line/ is not watched for its data
		op := machine.Op{Do: machine.Set, Path: l.base.root.Line(), Version: machine.Any}
		l.base.once(machine.Transact{Ops: []machine.Op{op}}, key{purpose: askingTime})
	}
	return false
}

// onAlarm takes in that the next item is due.
func (l *later) onAlarm() {
	l.now, l.alarm, l.base.relist = max(l.now, l.alarm), 0, true
}
