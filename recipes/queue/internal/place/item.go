package place

import (
	"strconv"
	"strings"

	"github.com/troupe-go/troupe/internal/znode"
)

const entry = "queue-"

// Place is where an item lies in its bucket.
type Place struct {
	Seq  int32 // the number of its znode, or of the pack that it was put in
	Part int   // which of that pack it is, from 1; 0 if it was put alone
}

// Compare orders places.
func (p Place) Compare(q Place) int {
	if c := znode.CompareSeq(p.Seq, q.Seq); c != 0 {
		return c
	}
	return p.Part - q.Part
}

// String is "0000000007", or "0000000007.00003" of the third in a pack.
func (p Place) String() string { return string(p.append(nil)) }

func (p Place) append(b []byte) []byte {
	b = padded(b, int64(p.Seq), 10)
	if p.Part > 0 {
		b = padded(append(b, '.'), int64(p.Part), partDigits)
	}
	return b
}

const partDigits = 5

// padded appends a number as ZooKeeper prints it: with zeros in front, the sign among the digits.
func padded(b []byte, n int64, digits int) []byte {
	if n < 0 {
		b, n, digits = append(b, '-'), -n, digits-1
	}
	var buf [20]byte
	text := strconv.AppendInt(buf[:0], n, 10)
	for range digits - len(text) {
		b = append(b, '0')
	}
	return append(b, text...)
}

// parsePlace cuts a place off the end of a name.
func parsePlace(name string) (head string, p Place, ok bool) {
	if dot := len(name) - partDigits - 1; dot > 0 && name[dot] == '.' {
		part, err := strconv.ParseUint(name[dot+1:], 10, 16)
		if err != nil || part == 0 {
			return "", Place{}, false
		}
		name, p.Part = name[:dot], int(part)
	}
	head, p.Seq, ok = znode.Sequence(name)
	return head, p, ok
}

// Item is what an item's name says about it.
type Item struct {
	GUID     string
	Priority int
	Due      int64  // of an item in a later lane: when its delay is over, in milliseconds of the servers' clock
	ID       string // as given by the application; "" if the GUID is the id
	Place
}

// Known is the id by which the application knows it.
func (i Item) Known() string {
	if i.ID != "" {
		return i.ID
	}
	return i.GUID
}

// Head is what the item's name begins with, the place follows. The lane tells whether there is a
// due time in it.
func (i Item) Head(l Lane) string { return string(i.appendHead(nil, l)) }

func (i Item) appendHead(b []byte, l Lane) []byte {
	b = protected(b, i.GUID, entry)
	b = append(strconv.AppendInt(b, int64(i.Priority), 10), '-')
	if l.Later {
		b = append(strconv.AppendInt(b, i.Due, 10), '-')
	}
	if i.ID != "" {
		b = append(append(b, i.ID...), '-')
	}
	return b
}

// protected appends what the names of a producer's znodes begin with, as [znode.Protect] writes it.
func protected(b []byte, guid, rest string) []byte {
	return append(b, znode.Protect(znode.GUID(guid), rest)...)
}

// Name is that of the item's znode.
func (i Item) Name(l Lane) string {
	return string(i.append(i.appendHead(make([]byte, 0, usualName), l)))
}

const usualName = 80

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
	i := Item{GUID: string(guid), Priority: int(priority), Place: Place{Seq: seq}}
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
