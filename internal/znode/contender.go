package znode

import (
	"strconv"
	"strings"
)

// Kind is what a contender stands in line for.
type Kind int

// The kinds of contenders.
const (
	Lock      Kind = iota + 1 // exclusive
	Read                      // a shared lock's reader
	Write                     // a shared lock's writer
	Lease                     // a semaphore's
	Candidate                 // an election's
)

// Contender is a name in a line, taken apart.
type Contender struct {
	Name   string
	GUID   GUID // "" if the layout has none
	Kind   Kind
	Prefix string // what the layout puts in front of the number
	Seq    int32
	Weight int // of a lease; 1 where the layout has none
}

// layout is one library's way of naming.
type layout struct {
	prefix string
	kind   Kind
}

// layouts lists what may stand in front of the sequence number: ours and those that share names with us first.
var layouts = [...]layout{
	{"lock-", Lock},       // Troupe, Curator, go-zookeeper
	{"n_", Candidate},     // Troupe, ZooKeeper's LeaderElectionSupport
	{"read-", Read},       // Troupe, ZooKeeper's recipes
	{"write-", Write},     // Troupe, ZooKeeper's recipes
	{"latch-", Candidate}, // Curator's LeaderLatch
	{"__READ__", Read},    // Curator
	{"__WRIT__", Write},   // Curator
	{"__lock__", Write},   // kazoo's Lock and WriteLock
	{"__rlock__", Read},   // kazoo's ReadLock
	{"lease-", Lease},     // Troupe (with a weight), Curator
}

// ParseContender takes a child's name apart. False: it is none of a contender that Troupe knows, and is to be ignored.
func ParseContender(name string) (Contender, bool) {
	head, seq, ok := sequence(name)
	if !ok {
		return Contender{}, false
	}
	c := Contender{Name: name, Seq: seq, Weight: 1}
	var protected bool
	c.GUID, head, protected = Protection(head)
	for _, l := range layouts {
		if head == l.prefix || !protected && isKazoo(l, head) {
			c.Kind, c.Prefix = l.kind, l.prefix
			return c, true
		}
	}
	if w, ok := weight(head); ok {
		c.Kind, c.Prefix, c.Weight = Lease, "lease-", w
		return c, true
	}
	if !protected && isJava(head) {
		c.Kind, c.Prefix = Lock, "x-"
		return c, true
	}
	return Contender{}, false
}

// sequence cuts the number off the end of a name: ten digits, or a sign and at least nine, as "%010d" prints an int32.
func sequence(name string) (head string, seq int32, ok bool) {
	i := len(name)
	for i > 0 && name[i-1] >= '0' && name[i-1] <= '9' {
		i--
	}
	digits := name[i:]
	if len(digits) > 10 { // a hex digit or a weight cannot run into it: every layout ends with a mark
		return "", 0, false
	}
	negative := len(digits) >= 9 && i > 0 && name[i-1] == '-' && (len(digits) == 9 || marked(name[:i-1]))
	if negative {
		i--
	} else if len(digits) != 10 {
		return "", 0, false
	}
	n, err := strconv.ParseInt(name[i:], 10, 32)
	if err != nil {
		return "", 0, false
	}
	return name[:i], int32(n), true
}

// marked: the name still ends with a layout's mark when the dash is taken for the number's sign.
func marked(head string) bool { return strings.HasSuffix(head, "-") || strings.HasSuffix(head, "_") }

// isKazoo: kazoo puts a GUID of 32 digits right in front of its mark.
func isKazoo(l layout, head string) bool {
	g, ok := strings.CutSuffix(head, l.prefix)
	return ok && strings.HasSuffix(l.prefix, "lock__") && len(g) == plain && isGUID(g)
}

// weight takes "lease-<weight>-" apart.
func weight(head string) (int, bool) {
	w, ok := strings.CutPrefix(head, "lease-")
	if w, ok = strings.CutSuffix(w, "-"); !ok || w == "" || w[0] == '0' || w[0] == '+' {
		return 0, false
	}
	n, err := strconv.ParseInt(w, 10, 32)
	return int(n), err == nil && n > 0
}

// isJava: ZooKeeper's WriteLock names its znodes "x-<session id>-".
func isJava(head string) bool {
	id, ok := strings.CutPrefix(head, "x-")
	if id, ok = strings.CutSuffix(id, "-"); !ok || id == "" {
		return false
	}
	_, err := strconv.ParseInt(id, 10, 64)
	return err == nil
}

// Downgrades tells whether something else of the same holder may stand in the place of this contender when its znode is gone.
func (c Contender) Downgrades() bool {
	switch c.Prefix {
	case "lock-", "n_", "latch-", "x-":
		return false
	}
	return true
}
