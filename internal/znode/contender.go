package znode

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Kind is the kind of a contender, by what it waits for.
type Kind int

// The kinds of contenders.
const (
	Other     Kind = iota // none that is known
	Lock                  // exclusive
	Read                  // a shared lock's reader
	Write                 // a shared lock's writer
	Lease                 // a semaphore's
	Candidate             // an election's
)

// String is the kind's name.
func (k Kind) String() string {
	names := [...]string{"other", "lock", "read", "write", "lease", "candidate"}
	if k < 0 || int(k) >= len(names) {
		return "Kind(" + strconv.Itoa(int(k)) + ")"
	}
	return names[k]
}

// Contender is the name of a contender, taken apart.
type Contender struct {
	Name   string
	GUID   GUID // "" if the name has none
	Kind   Kind
	Prefix string // the layout: the part in front of the number, without GUID, weight and session
	Seq    int32
	Weight int // of a lease; 1 where the layout has none

	marks bool // see Marks
}

// ParseContender takes a child's name apart. False: it is not the name of a contender that Troupe
// knows, and is to be ignored.
func ParseContender(name string) (Contender, bool) {
	head, seq, ok := Sequence(name)
	if !ok {
		return Contender{}, false
	}
	c := Contender{Name: name, Seq: seq, Weight: 1}
	var unique bool // there is a GUID with a dash behind it
	if c.GUID, head, unique = Protection(head); !unique {
		c.GUID, head, unique = cutGUID(head) // as ZooKeeper's recipe page writes it
	}
	if !unique {
		c.GUID, head = kazoo(head)
	}
	for _, l := range layouts {
		if head == l.prefix {
			c.Kind, c.Prefix = l.kind, l.prefix
			return c, true
		}
	}
	if w, ok := weight(head); ok {
		c.Kind, c.Prefix, c.Weight, c.marks = Lease, lease, w, true
		return c, true
	}
	if !unique && isJava(head) {
		c.Kind, c.Prefix = Lock, java
		return c, true
	}
	return Contender{}, false
}

// Downgrades tells whether the holder of this contender's znode may give it up and hold on with
// another in its place, as a writer that becomes a reader does. Then the end of the znode does not
// mean that the next contender is first.
func (c Contender) Downgrades() bool {
	_, ok := readers[c.Prefix]
	return ok
}

// Marks tells whether the contender, once granted, says so in its own data ([Notes]).
func (c Contender) Marks() bool { return c.marks }

// readers maps the layout of a writer to that of the reader that it may become.
var readers = map[string]string{"write-": "read-", "__WRIT__": "__READ__", "__lock__": "__rlock__"}

// Downgraded is the name, with a GUID of its own, of the reader that takes this writer's place: it
// has the same number. False: this is no writer that can become a reader.
func (c Contender) Downgraded(g GUID) (string, bool) {
	prefix, ok := readers[c.Prefix]
	if !ok {
		return "", false
	}
	name := fmt.Sprintf("%s%010d", prefix, c.Seq)
	switch {
	case c.Prefix == "__lock__":
		return Bare.Head(g, 0, name), true
	case c.GUID != "" && !strings.HasPrefix(c.Name, protection):
		return Page.Head(g, 0, name), true
	}
	return Protect(g, name), true
}

// Contenders is the contenders among the names of a listing. It is never changed, since several
// machines may share one.
type Contenders struct {
	Contenders []Contender // by their sequence numbers
	Ambiguous  bool        // which leave the order of creation open: they may have wrapped around, stuck or repeated
}

// NewContenders takes the names apart.
func NewContenders(names []string) *Contenders {
	l := &Contenders{Contenders: make([]Contender, 0, len(names))}
	for _, name := range names {
		if c, ok := ParseContender(name); ok {
			l.Contenders = append(l.Contenders, c)
		}
	}
	slices.SortFunc(l.Contenders, func(a, b Contender) int { return CompareSeq(a.Seq, b.Seq) })
	for i, c := range l.Contenders {
		l.Ambiguous = l.Ambiguous || NeedsCzxid(c.Seq) || i > 0 && c.Seq == l.Contenders[i-1].Seq
	}
	return l
}

const (
	lease = "lease-"
	java  = "x-"
)

// layouts lists the parts that may be in front of the sequence number.
var layouts = [...]struct {
	prefix string
	kind   Kind
}{
	{"lock-", Lock},       // Troupe, Curator, go-zookeeper, ZooKeeper's recipe page
	{"n_", Candidate},     // Troupe, ZooKeeper's LeaderElectionSupport and recipe page
	{"read-", Read},       // Troupe, ZooKeeper's recipe page
	{"write-", Write},     // Troupe, ZooKeeper's recipe page
	{lease, Lease},        // Curator; Troupe has a weight behind it
	{"latch-", Candidate}, // Curator's LeaderLatch
	{"__READ__", Read},    // Curator
	{"__WRIT__", Write},   // Curator
	{"__lock__", Write},   // kazoo's Lock and WriteLock, which are one
	{"__rlock__", Read},   // kazoo's ReadLock
}

// kazoo takes off the 32 digits that kazoo puts right in front of its mark.
func kazoo(head string) (GUID, string) {
	if len(head) <= plain {
		return "", head
	}
	id, mark := head[:plain], head[plain:]
	if (mark == "__lock__" || mark == "__rlock__") && isGUID(id) {
		return GUID(id), mark
	}
	return "", head
}

// weight takes Troupe's "lease-<weight>-" apart.
func weight(head string) (int, bool) {
	w, ok := enclosed(head, lease)
	if !ok || w[0] < '1' || w[0] > '9' {
		return 0, false
	}
	n, err := strconv.ParseInt(w, 10, 32)
	return int(n), err == nil
}

// isJava tells whether it is "x-<session id>-", as ZooKeeper's WriteLock names its znodes.
func isJava(head string) bool {
	id, ok := enclosed(head, java)
	if !ok || id[0] == '+' {
		return false
	}
	_, err := strconv.ParseInt(id, 10, 64)
	return err == nil
}

// enclosed returns the text between a prefix and a dash at the end; false if there is none.
func enclosed(head, prefix string) (string, bool) {
	s, ok := strings.CutPrefix(head, prefix)
	if !ok {
		return "", false
	}
	s, ok = strings.CutSuffix(s, "-")
	return s, ok && s != ""
}
