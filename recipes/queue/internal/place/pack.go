package place

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"github.com/troupe-go/troupe/internal/znode"
)

// Pack is what a pack's name says: it stands for some of the items that were put together, which
// lie one behind the other. Its data are theirs. What changes for a part of them is done by
// deleting it and making packs of what it is divided into, at the same place. What was claimed
// never has a name that it had before, so whoever finds a pack under its name finds it as it was.
//
//	…/_c_5f0c3a52-8d1c-4c6e-9a53-7b1f2c3d0000-pack-0-0-1-3-0000000008     three that were put: "3:red,4:blue,5:green,"
//	…/_c_5f0c3a52-8d1c-4c6e-9a53-7b1f2c3d0000-pack-0-1-1-2-0000000008     the first two of them, claimed for the first time
//	…/_c_5f0c3a52-8d1c-4c6e-9a53-7b1f2c3d0000-pack-0-0-3-3-0000000008     what is left in line
type Pack struct {
	GUID        string // of all items, but for the last four digits
	Priority    int
	Tries       int // how often they were claimed
	First, Last int // of the items, counted from 1 over all that were put with them
	Seq         int32
}

const (
	pack       = "pack-"
	guidLength = 36
	family     = guidLength - 4

	// MostTogether is how many items can be put together: the last four digits of their GUIDs tell
	// them apart.
	MostTogether = 1<<16 - 1
)

// Member is the GUID of an item among those that are put together with this GUID; 0 is that of the
// packs.
func Member(guid string, part int) string {
	const hex = "0123456789abcdef"
	b := make([]byte, 0, guidLength)
	b = append(b, guid[:family]...)
	return string(append(b, hex[part>>12&15], hex[part>>8&15], hex[part>>4&15], hex[part&15]))
}

// Part is a part of it.
func (p Pack) Part(first, last int) Pack {
	p.First, p.Last = first, last
	return p
}

// Len is how many items it stands for.
func (p Pack) Len() int { return p.Last - p.First + 1 }

// At is the place of its first item.
func (p Pack) At() Place { return Place{p.Seq, p.First} }

// Head is what its name begins with, its number follows.
func (p Pack) Head() string { return string(p.appendHead(nil)) }

func (p Pack) appendHead(b []byte) []byte {
	b = protected(b, p.GUID, pack)
	for _, n := range []int{p.Priority, p.Tries, p.First, p.Last} {
		b = append(strconv.AppendInt(b, int64(n), 10), '-')
	}
	return b
}

// Name is that of its znode.
func (p Pack) Name() string {
	return string(Place{Seq: p.Seq}.append(p.appendHead(make([]byte, 0, usualName))))
}

// Item is one of those that it stands for.
func (p Pack) Item(part int) Item {
	return Item{GUID: Member(p.GUID, part), Priority: p.Priority, Place: Place{p.Seq, part}}
}

// Has tells which of its items has a GUID; false if none has.
func (p Pack) Has(guid string) (part int, ok bool) {
	if len(guid) != guidLength || guid[:family] != p.GUID[:family] {
		return 0, false
	}
	n, err := strconv.ParseUint(guid[family:], 16, 16)
	part = int(n)
	return part, err == nil && p.First <= part && part <= p.Last && Member(guid, part) == guid
}

// ParsePack takes the name of a znode in a lane's bucket apart; false if it is no pack's.
func ParsePack(name string, l Lane) (Pack, bool) {
	if l.Later || !strings.Contains(name, pack) {
		return Pack{}, false
	}
	head, seq, ok := znode.Sequence(name)
	if !ok {
		return Pack{}, false
	}
	guid, rest, ok := znode.Protection(head)
	if !ok || len(guid) != guidLength {
		return Pack{}, false
	}
	if rest, ok = strings.CutPrefix(rest, pack); !ok {
		return Pack{}, false
	}
	var n [4]int64
	for i := range n {
		if n[i], rest, ok = number(rest); !ok || n[i] != int64(int32(n[i])) {
			return Pack{}, false
		}
	}
	p := Pack{GUID: string(guid), Priority: int(n[0]), Tries: int(n[1]), First: int(n[2]), Last: int(n[3]), Seq: seq}
	return p, rest == "" && p.Priority == l.Priority && p.Tries >= 0 && p.Tries < math.MaxInt32 && p.First > 0 && p.First <= p.Last && p.Last <= MostTogether && p.Name() == name
}

// Wrap makes a pack's data: netstrings, which a human can read.
func Wrap(data [][]byte) []byte {
	size := 0
	for _, d := range data {
		size += len(d) + 2 + 7
	}
	b := make([]byte, 0, size)
	for _, d := range data {
		b = strconv.AppendInt(b, int64(len(d)), 10)
		b = append(append(append(b, ':'), d...), ',')
	}
	return b
}

// Unwrap takes them apart; false if they are none.
func Unwrap(b []byte) ([][]byte, bool) {
	var data [][]byte
	for len(b) > 0 {
		colon := bytes.IndexByte(b, ':')
		if colon < 0 {
			return nil, false
		}
		n, err := strconv.Atoi(string(b[:colon]))
		b = b[colon+1:]
		if err != nil || n < 0 || n >= len(b) || b[n] != ',' {
			return nil, false
		}
		data = append(data, b[:n:n])
		b = b[n+1:]
	}
	return data, true
}
