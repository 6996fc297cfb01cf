package protocol

import (
	"slices"
	"strings"

	"github.com/troupe-go/troupe/internal/znode"
)

// Root is the path that a coordinator and its sites share.
type Root string

func (r Root) below(parts ...string) string {
	path := string(r)
	for _, part := range parts {
		path = znode.Join(path, part)
	}
	return path
}

// Transactions is the parent of the records.
func (r Root) Transactions() string { return r.below("tx") }

// Tx is a transaction's record.
func (r Root) Tx(id string) string { return r.below("tx", id) }

// Payload is the znode of a transaction's payload.
func (r Root) Payload(id, guid string) string { return r.below("tx", id, protect(guid, "payload")) }

// Tombstones is the parent of the outcomes of deleted transactions that some of their coordinators
// may not know.
func (r Root) Tombstones() string { return r.below("tombstones") }

// Tombstone is the outcome of a transaction that several coordinators had, and one of them has
// acknowledged.
func (r Root) Tombstone(id, guid string) string { return r.below("tombstones", protect(guid, id)) }

// Swept is the znode that says up to which zxid unacknowledged outcomes have been deleted. It is
// persistent, and created when that happens for the first time.
func (r Root) Swept() string { return r.below("swept") }

// Mark is the coordinator's mark, which exists until the application has acknowledged the outcome.
func (r Root) Mark(id, guid string) string { return r.below("tx", id, protect(guid, "open")) }

// Vote is the znode of a site's vote.
func (r Root) Vote(id, guid, site string) string {
	return r.below("tx", id, protect(guid, "vote-"+site))
}

// Inbox is the parent of the entries for a site. Each transaction that adds an entry also writes
// empty data to it.
func (r Root) Inbox(site string) string { return r.below("inbox", site) }

// Presences is the parent of the sites' presences.
func (r Root) Presences() string { return r.below("alive") }

// Alive is a site's presence.
func (r Root) Alive(site string) string { return r.below("alive", site) }

// Coordinators is the parent of the coordinators' presences.
func (r Root) Coordinators() string { return r.below("coordinators") }

// Coordinator is a coordinator's presence.
func (r Root) Coordinator(guid string) string { return r.below("coordinators", guid) }

func protect(guid, name string) string { return znode.Protect(znode.GUID(guid), name) }

// entry is one transaction in a site's inbox.
type entry struct {
	name     string // of the znode
	guid, id string
	seq      int32
}

// entryPrefix is the prefix of an entry's name, to which ZooKeeper appends the number.
func entryPrefix(guid, id string) string { return protect(guid, id+"-") }

// entries returns the transactions among an inbox's children, oldest first. It ignores other names.
//
// All sites take them in the same order, that of the transactions that began them. So the oldest
// one is never waiting for room at some site.
func entries(names []string) []entry {
	var all []entry
	for _, name := range names {
		guid, rest, ok := znode.Protection(name)
		if !ok {
			continue
		}
		head, seq, ok := znode.Sequence(rest)
		if id := strings.TrimSuffix(head, "-"); ok && id != "" && id != head {
			all = append(all, entry{name: name, guid: string(guid), id: id, seq: seq})
		}
	}
	slices.SortFunc(all, func(a, b entry) int {
		if c := znode.CompareSeq(a.seq, b.seq); c != 0 {
			return c
		}
		return strings.Compare(a.name, b.name)
	})
	return all
}
