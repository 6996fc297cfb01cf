package tree

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Quotas, as 3.8 has them by default: a znode named for limits below /zookeeper/quota has what is
// below the path of the same name counted, in the data of the znode beside it, whose version and
// times stay. The hard limits are enforced where Caller.Quotas says so.
const (
	quotaRoot  = "/zookeeper/quota"
	limitsName = "zookeeper_limits"
	statsName  = "zookeeper_stats"
)

// quotaOf splits the path of a node that belongs to a quota.
func quotaOf(path string) (subject, name string, ok bool) {
	parent, name := Parent(path), path[strings.LastIndexByte(path, '/')+1:]
	subject, ok = strings.CutPrefix(parent, quotaRoot)
	return subject, name, ok && strings.HasPrefix(subject, "/")
}

// quotaCreated is called for every node that came to be.
func (t *Tree) quotaCreated(n *Node) {
	if subject, name, ok := quotaOf(n.path); ok {
		switch name {
		case limitsName:
			t.quotas[subject] = struct{}{}
		case statsName:
			n.data = (&usage{count: t.countFrom(subject), bytes: t.bytesFrom(subject)}).text()
		}
	}
	t.count(n.path, int64(len(n.data)), 1)
}

// quotaDeleted is called for every node that has gone.
func (t *Tree) quotaDeleted(n *Node) {
	if subject, name, ok := quotaOf(n.path); ok && name == limitsName {
		delete(t.quotas, subject)
	}
	t.count(n.path, -int64(len(n.data)), -1)
}

// count adds to the account of the longest path with a quota. What isn't an account is left alone.
func (t *Tree) count(path string, bytes, count int64) {
	if len(t.quotas) == 0 {
		return
	}
	for ; path != ""; path = Parent(path) {
		if _, limited := t.quotas[path]; !limited {
			continue
		}
		if n := t.nodes[quotaRoot+path+"/"+statsName]; n != nil {
			if u, ok := parseUsage(n.data); ok {
				u.count += count
				u.bytes += bytes
				n.data = u.text()
			}
		}
		return
	}
}

// exceeds reports whether so much more would exceed a hard limit of the longest path with a quota.
func (t *Tree) exceeds(path string, bytes, count int64) bool {
	for ; path != ""; path = Parent(path) {
		if _, limited := t.quotas[path]; limited {
			break
		}
	}
	limits, account := t.nodes[quotaRoot+path+"/"+limitsName], t.nodes[quotaRoot+path+"/"+statsName]
	if path == "" || limits == nil || account == nil {
		return false
	}
	most, ok := parseUsage(limits.data)
	have, fine := parseUsage(account.data)
	if !ok || !fine {
		return false
	}
	over := func(name string, have, more int64) bool {
		limit, limited := most.others[name]
		return limited && limit > -1 && more > 0 && have+more > limit
	}
	return over("countHardLimit", have.count, count) || over("byteHardLimit", have.bytes, bytes)
}

func (t *Tree) countFrom(path string) int64 {
	if t.nodes[path] == nil {
		return 0
	}
	return int64(t.CountBelow(path)) + 1
}

func (t *Tree) bytesFrom(path string) (sum int64) {
	if n := t.nodes[path]; n != nil {
		walk(n, func(n *Node) { sum += int64(len(n.data)) })
	}
	return sum
}

// usage is an account: two numbers, and others by name, which are kept.
type usage struct {
	count, bytes int64
	others       map[string]int64
}

func parseUsage(text []byte) (u usage, ok bool) {
	u = usage{count: -1, bytes: -1, others: make(map[string]int64)}
	if text == nil {
		return u, false
	}
	for pair := range strings.FieldsFuncSeq(string(text), func(c rune) bool { return c == ',' || c == ';' }) {
		key, value, found := strings.Cut(strings.TrimRight(pair, "="), "=")
		n, err := strconv.ParseInt(value, 10, 64)
		if !found || err != nil {
			return u, false
		}
		switch key {
		case "count":
			u.count = n
		case "bytes":
			u.bytes = n
		default:
			u.others[key] = n
		}
	}
	return u, true
}

func (u *usage) text() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "count=%d,bytes=%d", u.count, u.bytes)
	names := make([]string, 0, len(u.others))
	for name := range u.others {
		names = append(names, name)
	}
	slices.Sort(names)
	if len(names) > 0 {
		b.WriteByte('=')
	}
	for _, name := range names {
		fmt.Fprintf(&b, ";%s=%d", name, u.others[name])
	}
	return b.Bytes()
}
