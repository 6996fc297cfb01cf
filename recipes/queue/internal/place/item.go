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

// Claim is what a claim's name says: which item, and the how manieth claim on it. So no claim ever has the name of another.
type Claim struct {
	Seq     int32
	Attempt int32
}

// Name is that of the claim's znode.
func (c Claim) Name() string { return fmt.Sprintf("%s%010d-%d", taken, c.Seq, c.Attempt) }

// ParseClaim takes a claim's name apart; false if it is none.
func ParseClaim(name string) (Claim, bool) {
	rest, ok := strings.CutPrefix(name, taken)
	if !ok {
		return Claim{}, false
	}
	seq, rest, ok := number(rest)
	if !ok {
		return Claim{}, false
	}
	attempt, err := strconv.ParseInt(rest, 10, 32)
	if err != nil || seq != int64(int32(seq)) {
		return Claim{}, false
	}
	c := Claim{Seq: int32(seq), Attempt: int32(attempt)}
	return c, c.Name() == name
}
