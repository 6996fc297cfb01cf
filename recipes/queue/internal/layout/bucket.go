package layout

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/troupe-go/troupe/internal/znode"
)

// Bounds of priorities: each has a bucket at least, and all of them are listed together.
const (
	MaxPriority = 9_999
	MinPriority = -MaxPriority
)

// Lane is a sequence of buckets: the items of one priority, or those that are due at about the same
// time.
type Lane struct {
	Later    bool
	Priority int   // unless Later
	Slot     int64 // of a later lane: the time from which on its items may be due, in milliseconds of the servers' clock
}

func (l Lane) prefix() string {
	if l.Later {
		return strconv.FormatInt(l.Slot, 10) + "-"
	}
	return strconv.Itoa(l.Priority) + "-"
}

// Compare orders lanes of items by priority, and later lanes by time.
func (l Lane) Compare(m Lane) int {
	return cmp.Or(cmp.Compare(l.Slot, m.Slot), cmp.Compare(l.Priority, m.Priority))
}

// Bucket is a part of a lane. Everything in a lower one was put before everything in a higher one.
type Bucket struct {
	Lane   Lane
	Number int
}

// Name is that of the bucket's znode.
func (b Bucket) Name() string { return fmt.Sprintf("%s%010d", b.Lane.prefix(), b.Number) }

// Compare orders buckets by lane and number.
func (b Bucket) Compare(c Bucket) int {
	return cmp.Or(b.Lane.Compare(c.Lane), cmp.Compare(b.Number, c.Number))
}

// Next is the bucket behind it in its lane.
func (b Bucket) Next() Bucket { return Bucket{b.Lane, b.Number + 1} }

// ParseBucket takes the name of a bucket of items apart; false if no queue gives such a name.
func ParseBucket(name string) (Bucket, bool) {
	return parseBucket(name, func(n int64) (Lane, bool) {
		return Lane{Priority: int(n)}, n >= MinPriority && n <= MaxPriority
	})
}

// ParseLater takes the name of a bucket of what is not due apart; false if no queue gives such a
// name.
func ParseLater(name string) (Bucket, bool) {
	return parseBucket(name, func(n int64) (Lane, bool) { return Lane{Later: true, Slot: n}, n >= 0 })
}

func parseBucket(name string, lane func(n int64) (Lane, bool)) (Bucket, bool) {
	head, number, ok := znode.Sequence(name)
	n, err := strconv.ParseInt(strings.TrimSuffix(head, "-"), 10, 64)
	if !ok || err != nil || number < 0 {
		return Bucket{}, false
	}
	l, ok := lane(n)
	b := Bucket{l, int(number)}
	return b, ok && b.Name() == name
}

// SlotOf is the later lane of an item with a delay. The longer the delay, the wider the slot, up to
// a quarter of it: so a few hundred serve delays from a second to centuries, and can be listed.
func SlotOf(now, delay int64) Lane {
	width := int64(1024)
	for width < delay/8 {
		width *= 2
	}
	return Lane{Later: true, Slot: Due(now, delay) / width * width}
}

// Due is when a delay is over. One that would not end in the age of milliseconds ends with it.
func Due(now, delay int64) int64 {
	if delay > math.MaxInt64-now {
		return math.MaxInt64
	}
	return now + delay
}
