package place

import (
	"cmp"
	"math"
	"strconv"
	"strings"

	"github.com/troupe-go/troupe/internal/znode"
)

// Bounds of what a bucket's name can say. They keep the listing of a queue far below what a client
// takes: each priority has a bucket at least.
const (
	MaxPriority = 9_999
	MinPriority = -MaxPriority
	MaxShards   = 256
)

const (
	ready = "ready-"
	later = "later-"
)

// Lane is a sequence of buckets: the items of one priority in one shard, or the delayed ones that
// are due at about the same time.
type Lane struct {
	Later    bool
	Slot     int64 // of a later lane: nothing in it is due before this instant, in milliseconds of the servers' clock
	Priority int   // of a ready lane
	Shard    int   // of a ready lane
}

// append appends what a bucket's name begins with.
func (l Lane) append(b []byte) []byte {
	if l.Later {
		b = strconv.AppendInt(append(b, later...), l.Slot, 10)
		return append(b, '-')
	}
	b = strconv.AppendInt(append(b, ready...), int64(l.Priority), 10)
	if l.Shard > 0 {
		b = strconv.AppendInt(append(b, '.'), int64(l.Shard), 10)
	}
	return append(b, '-')
}

// Valid tells whether a lane's names can be told apart from others.
func (l Lane) Valid() bool {
	parsed, ok := parseLane(string(l.append(nil)))
	return ok && parsed == l
}

// Compare orders lanes: what is ready first, by priority and shard; then what comes later, by time.
func (l Lane) Compare(m Lane) int {
	switch {
	case l.Later != m.Later && m.Later:
		return -1
	case l.Later != m.Later:
		return 1
	case l.Later:
		return cmp.Compare(l.Slot, m.Slot)
	}
	return cmp.Or(cmp.Compare(l.Priority, m.Priority), cmp.Compare(l.Shard, m.Shard))
}

// Bucket is a part of a lane. Everything in a lower one was put before everything in a higher one.
type Bucket struct {
	Lane   Lane
	Number int
}

// Name is that of the bucket's znode.
func (b Bucket) Name() string {
	var name [48]byte
	var digits [20]byte
	n, number := b.Lane.append(name[:0]), strconv.AppendInt(digits[:0], int64(b.Number), 10)
	for range 10 - len(number) { // as the server appends it
		n = append(n, '0')
	}
	return string(append(n, number...))
}

// Compare orders buckets by lane and number.
func (b Bucket) Compare(c Bucket) int {
	return cmp.Or(b.Lane.Compare(c.Lane), cmp.Compare(b.Number, c.Number))
}

// Next is the bucket behind it in its lane.
func (b Bucket) Next() Bucket { return Bucket{b.Lane, b.Number + 1} }

// ParseBucket takes a name apart; false if no queue gives such a name to a bucket.
func ParseBucket(name string) (Bucket, bool) {
	head, number, ok := znode.Sequence(name)
	if !ok || number < 0 {
		return Bucket{}, false
	}
	lane, ok := parseLane(head)
	b := Bucket{lane, int(number)}
	return b, ok && b.Name() == name
}

func parseLane(head string) (Lane, bool) {
	head = strings.TrimSuffix(head, "-")
	if slot, ok := strings.CutPrefix(head, later); ok {
		at, err := strconv.ParseInt(slot, 10, 64)
		return Lane{Later: true, Slot: at}, err == nil && at >= 0
	}
	rest, ok := strings.CutPrefix(head, ready)
	if !ok {
		return Lane{}, false
	}
	number, part, sharded := strings.Cut(rest, ".")
	priority, err := strconv.Atoi(number)
	if err != nil || priority < MinPriority || priority > MaxPriority {
		return Lane{}, false
	}
	l := Lane{Priority: priority}
	if sharded {
		l.Shard, err = strconv.Atoi(part)
	}
	return l, err == nil && l.Shard >= 0 && l.Shard < MaxShards
}

// SlotOf is the lane of an item with a delay, and SlotOf of the same delay and a later time is
// never an earlier one. Slots are the wider the longer the delay: a few hundred serve delays from a
// second to centuries, so that there are never more of them than a listing can bear.
func SlotOf(now, delay int64) Lane {
	width := int64(1024)
	for width < delay/8 {
		width *= 2
	}
	due := Due(now, delay)
	return Lane{Later: true, Slot: due - due%width}
}

// Due is when a delay is over. One that would not end in the age of milliseconds ends with it.
func Due(now, delay int64) int64 {
	if delay > math.MaxInt64-now {
		return math.MaxInt64
	}
	return now + delay
}
