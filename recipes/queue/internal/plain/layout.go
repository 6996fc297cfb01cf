package plain

import (
	"cmp"
	"fmt"
	"math"
	"strconv"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/session"
)

// Layout is another library's.
type Layout int

// The layouts: see the package's documentation.
const (
	Java Layout = iota + 1
	Kazoo
	KazooLocking
	Curator
	CuratorPriority
	CuratorDelay
)

// rank is what an item's name says beside its number: the priority, or when it is due in
// milliseconds since 1970.
type rank int64

// layout is what sets one apart.
type layout struct {
	entries, taken string                     // below the queue's path
	lowest, most   int                        // priority; equal: it has none
	usual          int                        // priority
	delays         bool                       // the rank is when the item is due
	curator        bool                       // data are wrapped
	head           func(rank) string          // what the name of an item begins with
	rank           func(head string) (r rank) // of a head, if it is one
}

var layouts = map[Layout]layout{
	Java:         {head: func(rank) string { return "qn-" }, rank: func(string) rank { return 0 }},
	Kazoo:        {most: 999, usual: 100, head: kazooHead, rank: kazooRank},
	KazooLocking: {most: 999, usual: 100, head: kazooHead, rank: kazooRank, entries: "entries", taken: "taken"},
	Curator:      {curator: true, head: func(rank) string { return "queue-" }, rank: func(string) rank { return 0 }},
	CuratorPriority: {
		lowest: math.MinInt32, most: math.MaxInt32, curator: true,
		head: func(r rank) string {
			sign := 1
			if r < 0 {
				sign = 0
			}
			return fmt.Sprintf("queue-%d%08X", sign, uint32(r))
		},
		rank: func(head string) rank { return rank(int32(number(head, len("queue-1"), 0, 16))) },
	},
	CuratorDelay: {
		delays: true, curator: true,
		head: func(r rank) string { return fmt.Sprintf("queue-|%08X|", int64(r)) },
		rank: func(head string) rank { return rank(number(head, len("queue-|"), len("|"), 16)) },
	},
}

func kazooHead(r rank) string { return fmt.Sprintf("entry-%03d-", r) }

func kazooRank(head string) rank { return rank(number(head, len("entry-"), len("-"), 10)) }

// fifo tells whether what comes later is always behind what is there.
func (l layout) fifo() bool { return l.lowest == l.most && !l.delays }

// number is the one in a head, between so many bytes. If there is none, the head will not be the
// one that belongs to what is returned.
func number(head string, before, behind, base int) int64 {
	if len(head) < before+behind {
		return 0
	}
	n, _ := strconv.ParseInt(head[before:len(head)-behind], base, 64)
	return n
}

// Known tells whether there is such a layout.
func (l Layout) Known() bool { return layouts[l].head != nil }

// Claims tells whether items can be claimed.
func (l Layout) Claims() bool { return layouts[l].taken != "" }

// Ranked tells whether items have priorities.
func (l Layout) Ranked() bool { return layouts[l].lowest < layouts[l].most }

// Delays tells whether items can be put with a delay. It ends by the clocks of those who take them,
// as the layout has it.
func (l Layout) Delays() bool { return layouts[l].delays }

// UsualPriority is that of an item for which none is given.
func (l Layout) UsualPriority() int { return layouts[l].usual }

// ValidPriority says what is wrong with a priority.
func (l Layout) ValidPriority(n int) error {
	of := layouts[l]
	switch {
	case !l.Ranked():
		return fmt.Errorf("WithPriority: %w in this layout", session.ErrUnsupported)
	case n < of.lowest || n > of.most:
		return fmt.Errorf("WithPriority: %d is not between %d and %d, the range of this layout", n, of.lowest, of.most)
	}
	return nil
}

// item is what the name of an item says.
type item struct {
	Entry

	rank rank
	seq  int32
}

// compare orders items as they are taken.
func (i item) compare(j item) int {
	return cmp.Or(cmp.Compare(i.rank, j.rank), znode.CompareSeq(i.seq, j.seq))
}

// parse takes the name of an item apart; false if it is none.
func (l layout) parse(name string) (item, bool) {
	for _, digits := range []int{10, 11} {
		if len(name) < digits {
			break
		}
		head := name[:len(name)-digits]
		seq, ok := sequence(name[len(head):])
		if !ok {
			continue
		}
		r := l.rank(head)
		if r < rank(l.lowest) || l.head(r) != head {
			continue
		}
		i := item{Entry: Entry{Name: name}, rank: r, seq: seq}
		if !l.delays {
			i.Priority = int(r)
		}
		return i, true
	}
	return item{}, false
}

// sequence is a number as ZooKeeper prints it: with ten characters, or with eleven if it is far
// below zero.
func sequence(digits string) (seq int32, ok bool) {
	n, err := strconv.ParseInt(digits, 10, 32)
	long := n <= -1_000_000_000
	return int32(n), err == nil && digits[0] != '+' && (n < 0) == (digits[0] == '-') && long == (len(digits) > 10)
}
