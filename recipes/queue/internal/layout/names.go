package layout

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math"
	"strconv"
	"strings"

	"github.com/troupe-go/troupe/internal/znode"
)

// Root is a queue's path.
type Root string

func (r Root) at(name string) string { return znode.Join(string(r), name) }

// Items is the path of the parent of the buckets with items.
func (r Root) Items() string { return r.at("items") }

// Claims is the path of the parent of the buckets with claims, with data while the queue is paused.
func (r Root) Claims() string { return r.at("claims") }

// Later is the path of the parent of the buckets with items that are not due.
func (r Root) Later() string { return r.at("later") }

// Line is the path below which idle consumers stand in line.
func (r Root) Line() string { return r.at("line") }

// Bell is the path of the znode that is set with each change that makes an item available.
func (r Root) Bell() string { return r.at("bell") }

// Consumers is the path below which each consumer that lives has an ephemeral znode.
func (r Root) Consumers() string { return r.at("consumers") }

// Consumer is the path of a consumer's ephemeral znode.
func (r Root) Consumer(guid string) string { return znode.Join(r.Consumers(), guid) }

// Receipts is the path of the parent of the producers' receipts.
func (r Root) Receipts() string { return r.at("receipts") }

// Receipt is the path of a producer's receipt.
func (r Root) Receipt(guid string) string { return znode.Join(r.Receipts(), guid) }

// Size is the path of the znode with the size of a queue that has a capacity.
func (r Root) Size() string { return r.at("size") }

// Dead is the path of the dead letters, unless another was chosen.
func (r Root) Dead() string { return r.at("dead") }

// Bucket is the path of a bucket, of items or of items that are not due.
func (r Root) Bucket(b Bucket) string {
	if b.Lane.Later {
		return znode.Join(r.Later(), b.Name())
	}
	return znode.Join(r.Items(), b.Name())
}

// ClaimsOf is the path of the claims on the items of a bucket.
func (r Root) ClaimsOf(b Bucket) string { return znode.Join(r.Claims(), b.Name()) }

// Claim is the path of the claim on the item with a number in a bucket.
func (r Root) Claim(b Bucket, seq int32) string { return znode.Join(r.ClaimsOf(b), ClaimName(seq)) }

// IDs is the path of the parent of the parents of ids.
func (r Root) IDs() string { return r.at("ids") }

// ID is the path of the znode of an item's id, and its parent: ids are spread over 256 parents, so
// that each can be listed.
func (r Root) ID(id string) (path, parent string) {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id)) // never fails
	parent = znode.Join(r.IDs(), fmt.Sprintf("%02x", h.Sum32()&0xff))
	return znode.Join(parent, id), parent
}

// Bounds of priorities: each priority has a bucket at least, and all of them are listed together.
const (
	MaxPriority = 9_999
	MinPriority = -MaxPriority
)

// Lane is a sequence of buckets: the items of one priority, or items that are due at about the same
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

// ParseBucket parses the name of a bucket of items; false if no queue gives such a name.
func ParseBucket(name string) (Bucket, bool) {
	return parseBucket(name, func(n int64) (Lane, bool) {
		return Lane{Priority: int(n)}, n >= MinPriority && n <= MaxPriority
	})
}

// ParseLater parses the name of a bucket of items that are not due; false if no queue gives such a
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

// SlotOf is the later lane of an item with a delay. A slot is about a second wide; for delays of
// over eight, between an eighth and a quarter of the delay: so a few hundred slots serve delays
// from a second to centuries, and can be listed.
func SlotOf(now, delay int64) Lane {
	width := int64(1024)
	for width < delay/8 {
		width *= 2
	}
	return Lane{Later: true, Slot: Due(now, delay) / width * width}
}

// Due is when a delay is over. A delay that would not end in the age of milliseconds ends with it.
func Due(now, delay int64) int64 {
	if delay > math.MaxInt64-now {
		return math.MaxInt64
	}
	return now + delay
}

const mark = "-queue-" // between the GUID and the number in the name of an item that is due

// Item is where an item is.
type Item struct {
	Bucket  Bucket
	GUID    string
	Seq     int32
	Claimed bool  // by a listing of the claims
	Due     int64 // of one in a later bucket: in milliseconds of the servers' clock
}

// Prefix is what the name of an item's znode begins with: the server appends the sequence number.
func (i Item) Prefix() string {
	if i.Bucket.Lane.Later {
		return strconv.FormatInt(i.Due, 10) + "-" + i.GUID + "-"
	}
	return i.GUID + mark
}

// Name is that of the item's znode.
func (i Item) Name() string { return fmt.Sprintf("%s%010d", i.Prefix(), i.Seq) }

// Path is that of the item's znode.
func (i Item) Path(r Root) string { return znode.Join(r.Bucket(i.Bucket), i.Name()) }

// ClaimName is the name of the claim on the item with this number.
func ClaimName(seq int32) string { return fmt.Sprintf("%010d", seq) }

// NumberOf is the number that an item's name ends with, which is its claim's name.
func NumberOf(name string) string { return name[max(len(name)-10, 0):] }

// DueOf is when an item is due, by its name in a later bucket.
func DueOf(name string) (due int64, ok bool) {
	head, _, _ := strings.Cut(name, "-")
	due, err := strconv.ParseInt(head, 10, 64)
	return due, err == nil
}

// ParseItem parses the name of an item in a bucket; false if no queue gives such a name.
func ParseItem(b Bucket, name string) (Item, bool) {
	head, seq, ok := znode.Sequence(name)
	if !ok || seq < 0 {
		return Item{}, false
	}
	i := Item{Bucket: b, Seq: seq}
	if !b.Lane.Later {
		i.GUID, ok = strings.CutSuffix(head, mark)
		return i, ok && i.GUID != "" && i.Name() == name
	}
	due, guid, _ := strings.Cut(strings.TrimSuffix(head, "-"), "-")
	n, err := strconv.ParseInt(due, 10, 64)
	i.Due, i.GUID = n, guid
	return i, err == nil && n >= 0 && guid != "" && i.Name() == name
}
