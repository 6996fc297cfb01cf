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
//	<guid>-<count>-<sequence>       items that were put together, or one
//	<guid>-<count>+-<sequence>      the same, in a queue with a capacity: they take room
//	<guid>-of<part>-<sequence>      one of them that had to have a znode of its own, counted from 1
//	<guid>-of<part>to<last>-<sequence>    several of them, with <count>+ and <part>+ as above
//
// Items that were put together have GUIDs that differ in the last four digits, which count them
// through all the znodes that they were divided into.
//
// What was cut out of a znode has its sequence number. No two of these are ever named alike, parts
// of parts included: an item is named by one claim only, so what is cut with it is cut out of the
// znode that was cut with it before, and is always less than that. So of those that begin with the
// same item, each ends before the former one.
type Znode struct {
	GUID  string // of its first item
	Count int    // how many items it has
	Room  bool   // its items take room
	Seq   int32
	part  int
}

// Name is that of the znode.
func (z Znode) Name() string { return fmt.Sprintf("%s%010d", z.Head(), z.Seq) }

// Head is what the name begins with: the server appends the sequence number.
func (z Znode) Head() string {
	count, end := strconv.Itoa(z.Count), "-"
	if z.part > 0 {
		count = partMark + partText(z.part, z.last())
	}
	if z.Room {
		end = "+-"
	}
	return z.GUID + "-" + count + end
}

const partMark = "of"

// partText is "<first>" or "<first>to<last>".
func partText(first, last int) string {
	s := strconv.Itoa(first)
	if last > first {
		s += "to" + strconv.Itoa(last)
	}
	return s
}

func parsePart(s string) (first, last int, ok bool) {
	from, to, several := strings.Cut(s, "to")
	first, err := strconv.Atoi(from)
	if err != nil {
		return 0, 0, false
	}
	last = first
	if several {
		if last, err = strconv.Atoi(to); err != nil || last == first {
			return 0, 0, false
		}
	}
	return first, last, 1 <= first && first <= last && last <= MostTogether
}

// Part is which item of those that were put together is its first, from 1, if it was cut out of the
// znode that they were put in; 0 if it was put.
func (z Znode) Part() int { return z.part }

// last is the last one.
func (z Znode) last() int {
	if z.part == 0 {
		return 0
	}
	return z.part + z.Count - 1
}

// At is where it lies in a bucket.
func (z Znode) At(b place.Bucket) Position { return Position{b, z.Seq, z.part, z.last()} }

// number is what the last four digits of its GUID say.
func (z Znode) number() int {
	n, _ := strconv.ParseUint(z.GUID[len(z.GUID)-4:], 16, 16) // checked by ParseZnode
	return int(n)
}

// Item is the GUID of its nth item, counted from 0.
func (z Znode) Item(n int) string { return place.Member(z.GUID, z.number()+n) }

// Cut is the znode of some of its items, fewer than it has, from the nth, counted from 0.
func (z Znode) Cut(n, count int) Znode {
	return Znode{GUID: z.Item(n), Count: count, Room: z.Room, Seq: z.Seq, part: max(z.part, 1) + n}
}

// Alone is the znode of one of its items.
func (z Znode) Alone(n int) Znode { return z.Cut(n, 1) }

// Compare orders the znodes of a bucket.
func (z Znode) Compare(y Znode) int {
	return cmp.Or(cmp.Compare(z.Seq, y.Seq), cmp.Compare(z.part, y.part), cmp.Compare(z.Count, y.Count))
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
	z = Znode{GUID: head[:guidLength], Room: room, Count: 1}
	part, cut := strings.CutPrefix(count, partMark)
	if cut {
		var last int
		z.part, last, ok = parsePart(part)
		z.Count = last - z.part + 1
	} else {
		z.Count, _ = strconv.Atoi(count)
		ok = z.Count > 0 && z.Count <= MostTogether
	}
	if !ok || z.number()+z.Count-1 > place.MostTogether {
		return Znode{}, "", false
	}
	return z, rest, true
}

func isHex(s string) bool {
	return strings.Trim(s, "0123456789abcdef") == ""
}
