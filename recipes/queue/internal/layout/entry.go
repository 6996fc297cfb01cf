package layout

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
)

// Position is where a znode with items lies.
type Position struct {
	Bucket place.Bucket
	Seq    int32
	Part   int // of what was cut out of a znode: its first item, from 1
	Last   int // and its last
}

// Compare orders positions: by priority, then in the order in which items were put.
func (p Position) Compare(q Position) int {
	return cmp.Or(p.Bucket.Compare(q.Bucket), cmp.Compare(p.Seq, q.Seq), cmp.Compare(p.Part, q.Part), cmp.Compare(p.Last, q.Last))
}

// String is "<bucket>:<sequence>", "<bucket>:<sequence>.<part>" or
// "<bucket>:<sequence>.<part>to<last>".
func (p Position) String() string {
	s := p.Bucket.Name() + ":" + strconv.Itoa(int(p.Seq))
	if p.Part > 0 {
		s += "." + partText(p.Part, p.Last)
	}
	return s
}

func parsePosition(s string) (Position, bool) {
	bucket, at, ok := strings.Cut(s, ":")
	if !ok {
		return Position{}, false
	}
	p := Position{}
	if p.Bucket, ok = place.ParseBucket(bucket); !ok || p.Bucket.Lane.Later {
		return Position{}, false
	}
	number, part, split := strings.Cut(at, ".")
	n, err := strconv.ParseInt(number, 10, 32)
	if err != nil || n < 0 {
		return Position{}, false
	}
	p.Seq = int32(n)
	if split {
		if p.Part, p.Last, ok = parsePart(part); !ok {
			return Position{}, false
		}
	}
	return p, p.String() == s
}

// Run are items of one znode that were received equally often.
type Run struct {
	Items    uint64 // a bit for each
	Attempts int    // how often they were handed out before
}

// Entry is a claim, or a znode that came back from one: which of its items are not settled.
type Entry struct {
	Position
	Runs []Run // disjoint, none is empty
}

// Compare orders entries as their first items were put, of those that are left.
func (e Entry) Compare(f Entry) int {
	p, q := e.Position, f.Position
	return cmp.Or(p.Bucket.Compare(q.Bucket), cmp.Compare(p.Seq, q.Seq), cmp.Compare(e.first(), f.first()), p.Compare(q))
}

// first is the number of its first item that is left, among those that were put together.
func (e Entry) first() int { return max(e.Part, 1) + bits.TrailingZeros64(e.Left()) }

// Whole is the entry of a znode that was never claimed before.
func Whole(b place.Bucket, z Znode) Entry {
	return Entry{z.At(b), []Run{{Items: 1<<z.Count - 1}}} // 1<<64 is 0
}

// Left are the items that are not settled.
func (e Entry) Left() uint64 {
	var all uint64
	for _, r := range e.Runs {
		all |= r.Items
	}
	return all
}

// Len is how many they are.
func (e Entry) Len() int { return bits.OnesCount64(e.Left()) }

// Attempts is how often an item was handed out before.
func (e Entry) Attempts(n int) int {
	for _, r := range e.Runs {
		if r.Items&(1<<n) != 0 {
			return r.Attempts
		}
	}
	return 0
}

// Without is the entry without some items.
func (e Entry) Without(items uint64) Entry {
	var runs []Run
	for _, r := range e.Runs {
		if r.Items &^= items; r.Items != 0 {
			runs = append(runs, r)
		}
	}
	return Entry{e.Position, runs}
}

// Cut is the entry of what is cut out of the znode: see [Znode.Cut].
func (e Entry) Cut(z Znode, n, count int) Entry {
	cut := Entry{Position: z.Cut(n, count).At(e.Bucket)}
	for _, r := range e.Runs {
		if r.Items = r.Items >> n & (1<<count - 1); r.Items != 0 {
			cut.Runs = append(cut.Runs, r)
		}
	}
	return cut
}

// Counted is the entry after an attempt at some of its items.
func (e Entry) Counted(items uint64) Entry {
	var runs []Run
	add := func(items uint64, attempts int) {
		if items == 0 {
			return
		}
		if i := slices.IndexFunc(runs, func(r Run) bool { return r.Attempts == attempts }); i >= 0 {
			runs[i].Items |= items
			return
		}
		runs = append(runs, Run{items, attempts})
	}
	for _, r := range e.Runs {
		add(r.Items&^items, r.Attempts)
		add(r.Items&items, r.Attempts+1)
	}
	return Entry{e.Position, runs}
}

// text is "<items>" or "<items>*<attempts>", for each run, in hexadecimal and decimal.
func (e Entry) text() string {
	runs := make([]string, len(e.Runs))
	for i, r := range e.Runs {
		runs[i] = strconv.FormatUint(r.Items, 16)
		if r.Attempts > 0 {
			runs[i] += "*" + strconv.Itoa(r.Attempts)
		}
	}
	return strings.Join(runs, ",")
}

func parseRuns(s string) (runs []Run, ok bool) {
	var seen uint64
	for run := range strings.SplitSeq(s, ",") {
		set, attempts, counted := strings.Cut(run, "*")
		r := Run{}
		var err error
		if r.Items, err = strconv.ParseUint(set, 16, 64); err != nil || r.Items == 0 || r.Items&seen != 0 {
			return nil, false
		}
		if counted {
			if r.Attempts, err = strconv.Atoi(attempts); err != nil || r.Attempts < 1 {
				return nil, false
			}
		}
		seen |= r.Items
		runs = append(runs, r)
	}
	return runs, true
}

// Returned is a znode that came back. It can be claimed from Due on, in milliseconds of the
// servers' clock.
type Returned struct {
	Entry
	Due int64 // 0: at once
}

// Name is that of its znode below [Root.Returned].
func (r Returned) Name() string {
	return fmt.Sprintf("%s:%s:%d", r.Position, r.text(), r.Due)
}

// ParseReturned takes a name apart; false if no queue gives such a name.
func ParseReturned(name string) (Returned, bool) {
	fields := strings.Split(name, ":")
	if len(fields) != 4 {
		return Returned{}, false
	}
	r := Returned{}
	var ok bool
	var err error
	if r.Position, ok = parsePosition(fields[0] + ":" + fields[1]); !ok {
		return Returned{}, false
	}
	if r.Runs, ok = parseRuns(fields[2]); !ok {
		return Returned{}, false
	}
	r.Due, err = strconv.ParseInt(fields[3], 10, 64)
	return r, err == nil && r.Due >= 0 && r.Name() == name
}

// Find is the znode at the entry's position, in a listing of its bucket.
func (e Entry) Find(names []string) (Znode, bool) {
	for _, name := range names {
		if _, seq, ok := znode.Sequence(name); !ok || seq != e.Seq {
			continue
		}
		if z, ok := ParseZnode(name); ok && z.At(e.Bucket) == e.Position {
			return z, true
		}
	}
	return Znode{}, false
}
