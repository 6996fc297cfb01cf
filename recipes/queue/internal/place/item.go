package place

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/troupe-go/troupe/internal/znode"
)

const (
	entry = "queue-"
	taken = "taken-"
	back  = "back-"
)

// Item is what an item's name says about it.
type Item struct {
	GUID     string
	Priority int
	Due      int64  // of an item in a later lane: when its delay is over, in milliseconds of the servers' clock
	ID       string // as given by the application; "" if the GUID is the id
	Seq      int32  // its place in the bucket
}

// Known is the id by which the application knows it.
func (i Item) Known() string {
	if i.ID != "" {
		return i.ID
	}
	return i.GUID
}

// Head is what the item's name begins with, the sequence number follows. The lane tells whether there is a due time in it.
func (i Item) Head(l Lane) string {
	name := fmt.Sprintf("%s%d-", entry, i.Priority)
	if l.Later {
		name += fmt.Sprintf("%d-", i.Due)
	}
	if i.ID != "" {
		name += i.ID + "-"
	}
	return znode.Protect(znode.GUID(i.GUID), name)
}

// Name is that of the item's znode.
func (i Item) Name(l Lane) string { return i.Head(l) + fmt.Sprintf("%010d", i.Seq) }

// ParseItem takes the name of a znode in a lane's bucket apart; false if it is no item's.
func ParseItem(name string, l Lane) (Item, bool) {
	head, seq, ok := znode.Sequence(name)
	if !ok {
		return Item{}, false
	}
	guid, rest, ok := znode.Protection(head)
	if !ok {
		return Item{}, false
	}
	rest, ok = strings.CutPrefix(rest, entry)
	if !ok {
		return Item{}, false
	}
	priority, rest, ok := number(rest)
	if !ok || priority < MinPriority || priority > MaxPriority {
		return Item{}, false
	}
	i := Item{GUID: string(guid), Priority: int(priority), Seq: seq}
	if l.Later {
		if i.Due, rest, ok = number(rest); !ok || i.Due < 0 {
			return Item{}, false
		}
	} else if i.Priority != l.Priority {
		return Item{}, false
	}
	i.ID = strings.TrimSuffix(rest, "-")
	return i, i.Name(l) == name
}

// number takes "<digits>-" off the front, a minus before it included.
func number(s string) (n int64, rest string, ok bool) {
	from := 0
	if strings.HasPrefix(s, "-") {
		from = 1
	}
	end := strings.IndexByte(s[from:], '-')
	if end < 0 {
		return 0, s, false
	}
	n, err := strconv.ParseInt(s[:from+end], 10, 64)
	return n, s[from+end+1:], err == nil
}

// Claim is what a claim's name says: it covers the items of its bucket from one number to another, all that were there when it was made. Its tag is its own
// alone, so that no claim ever has the name of another.
type Claim struct {
	From, To int32
	Tag      string
}

// Name is that of the claim's znode.
func (c Claim) Name() string { return fmt.Sprintf("%s%010d-%010d-%s", taken, c.From, c.To, c.Tag) }

// Covers tells whether the claim is on an item, unless that was given back.
func (c Claim) Covers(seq int32) bool {
	return znode.CompareSeq(c.From, seq) <= 0 && znode.CompareSeq(seq, c.To) <= 0
}

// ParseClaim takes a claim's name apart; false if it is none.
func ParseClaim(name string) (Claim, bool) {
	rest, ok := strings.CutPrefix(name, taken)
	if !ok {
		return Claim{}, false
	}
	from, rest, ok := number(rest)
	if !ok || from != int64(int32(from)) {
		return Claim{}, false
	}
	to, tag, ok := number(rest)
	if !ok || to != int64(int32(to)) || tag == "" {
		return Claim{}, false
	}
	c := Claim{From: int32(from), To: int32(to), Tag: tag}
	return c, c.Name() == name
}

// Back is what the name of a mark says: an item that is covered by the claim with the tag was given back.
type Back struct {
	Tag string
	Seq int32
}

// Name is that of the mark's znode.
func (b Back) Name() string { return fmt.Sprintf("%s%010d-%s", back, b.Seq, b.Tag) }

// ParseBack takes a mark's name apart; false if it is none.
func ParseBack(name string) (Back, bool) {
	rest, ok := strings.CutPrefix(name, back)
	if !ok {
		return Back{}, false
	}
	seq, tag, ok := number(rest)
	if !ok || tag == "" || seq != int64(int32(seq)) {
		return Back{}, false
	}
	b := Back{Tag: tag, Seq: int32(seq)}
	return b, b.Name() == name
}

// Claims are those of a bucket.
type Claims struct {
	claims []Claim
	backs  map[Back]bool
}

// ClaimsIn are those in a listing.
func ClaimsIn(names []string) Claims {
	c := Claims{backs: make(map[Back]bool)}
	for _, name := range names {
		if claim, ok := ParseClaim(name); ok {
			c.claims = append(c.claims, claim)
		} else if b, ok := ParseBack(name); ok {
			c.backs[b] = true
		}
	}
	return c
}

// Len is how many there are.
func (c Claims) Len() int { return len(c.claims) }

// On tells whether an item is claimed.
func (c Claims) On(seq int32) bool {
	for _, claim := range c.claims {
		if claim.Covers(seq) && !c.backs[Back{Tag: claim.Tag, Seq: seq}] {
			return true
		}
	}
	return false
}
