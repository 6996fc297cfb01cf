package layout

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/troupe-go/troupe/internal/znode"
	"github.com/troupe-go/troupe/recipes/queue/internal/place"
)

// MostTogether is how many items a znode can have: a set of them is a bitmap.
const MostTogether = 64

// Znode is what the name of a znode with items says. It is written once, and claimed as a whole.
//
//	<guid>-<count>-<sequence>       items that were put together
//	<guid>-<count>+-<sequence>      the same, in a queue with a capacity: they take room
//	<guid>-of-<sequence>            one of them that had to have a znode of its own
//	<guid>-of+-<sequence>
type Znode struct {
	GUID  string // the items' end with their numbers, its own with 0; of one item it is that item's
	Count int    // how many items it has
	Cut   bool   // it was made for one item of another znode
	Room  bool   // its items take room
	Seq   int32
}

// Name is that of the znode.
func (z Znode) Name() string { return fmt.Sprintf("%s%010d", z.Head(), z.Seq) }

// Head is what the name begins with: the server appends the sequence number.
func (z Znode) Head() string {
	count, end := strconv.Itoa(z.Count), "-"
	if z.Cut {
		count = "of"
	}
	if z.Room {
		end = "+-"
	}
	return z.GUID + "-" + count + end
}

// Part is which item of another znode this one was made for, from 1; 0 if it was put.
func (z Znode) Part() int {
	if !z.Cut {
		return 0
	}
	return z.number()
}

// number is that of an item's GUID.
func (z Znode) number() int {
	n, _ := strconv.ParseUint(z.GUID[len(z.GUID)-4:], 16, 16) // checked by ParseZnode
	return int(n)
}

// Item is the GUID of its nth item, counted from 0.
func (z Znode) Item(n int) string {
	if z.number() > 0 {
		return z.GUID
	}
	return place.Member(z.GUID, n+1)
}

// Alone is the znode of one of its items, if that has to have one of its own. It is at the same
// position.
func (z Znode) Alone(n int) Znode {
	return Znode{GUID: z.Item(n), Count: 1, Cut: true, Room: z.Room, Seq: z.Seq}
}

// Compare orders the znodes of a bucket.
func (z Znode) Compare(y Znode) int {
	return cmp.Or(cmp.Compare(z.Seq, y.Seq), cmp.Compare(z.Part(), y.Part()))
}

// guidLength is that of a GUID with its dashes.
const guidLength = 36

// ParseZnode takes a name apart; false if no queue gives such a name.
func ParseZnode(name string) (Znode, bool) {
	head, seq, ok := znode.Sequence(name)
	if !ok || seq < 0 {
		return Znode{}, false
	}
	z, rest, ok := parseHead(head)
	z.Seq = seq
	return z, ok && rest == "" && z.Name() == name
}

// parseHead takes apart what begins with "<guid>-<count>-".
func parseHead(head string) (z Znode, rest string, ok bool) {
	if len(head) < guidLength+3 || head[guidLength] != '-' || !isHex(head[guidLength-4:guidLength]) {
		return Znode{}, "", false
	}
	count, rest, ok := strings.Cut(head[guidLength+1:], "-")
	if !ok {
		return Znode{}, "", false
	}
	count, room := strings.CutSuffix(count, "+")
	z = Znode{GUID: head[:guidLength], Room: room, Count: 1, Cut: count == "of"}
	if !z.Cut {
		z.Count, _ = strconv.Atoi(count) // 0 if it is none
	}
	switch n := z.number(); {
	case z.Count < 1, z.Count > MostTogether, n > MostTogether, n > 0 && z.Count > 1, n == 0 && z.Cut:
		return Znode{}, "", false
	}
	return z, rest, true
}

func isHex(s string) bool {
	return strings.Trim(s, "0123456789abcdef") == ""
}
