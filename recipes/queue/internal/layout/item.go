package layout

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/troupe-go/troupe/internal/sentinel"
	"github.com/troupe-go/troupe/internal/znode"
)

const mark = "-queue-"

// Item is where an item is.
type Item struct {
	Bucket Bucket
	GUID   string
	Seq    int32
	Due    int64 // of one in a later bucket: in milliseconds of the servers' clock
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

// ParseItem takes the name of an item in this bucket apart; false if no queue gives such a name.
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

// Errors that users see: package queue has the same ones.
const (
	ErrEmpty     = sentinel.ConstError("queue: empty")
	ErrFull      = sentinel.ConstError("queue: full")
	ErrDuplicate = sentinel.ConstError("queue: an item with this id is in the queue")
	ErrCapacity  = sentinel.ConstError("queue: the queue has another capacity")
)
