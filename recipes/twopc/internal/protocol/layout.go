package protocol

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/troupe-go/troupe/internal/znode"
)

// Root is the path that a coordinator and its sites share.
type Root string

func (r Root) below(path string) string { return znode.Join(string(r), path) }

// Transactions is the parent of the records.
func (r Root) Transactions() string { return r.below("tx") }

// Coordinators is the parent of the coordinators' presences.
func (r Root) Coordinators() string { return r.below("coordinators") }

// Tx is a transaction's record.
func (r Root) Tx(id string) string { return r.below("tx/" + id) }

// Vote is a site's vote on a transaction.
func (r Root) Vote(id, guid, site string) string { return r.Tx(id) + "/" + protect(guid, "vote-"+site) }

func (r Root) payload(id, guid string) string { return r.Tx(id) + "/" + protect(guid, "payload") }
func (r Root) mark(id, guid string) string    { return r.Tx(id) + "/" + protect(guid, "open") }
func (r Root) inbox(site string) string       { return r.below("inbox/" + site) }
func (r Root) alive(site string) string       { return r.below("alive/" + site) }
func (r Root) coordinator(guid string) string { return r.below("coordinators/" + guid) }

func protect(guid, name string) string { return znode.Protect(znode.GUID(guid), name) }

// entry is one transaction in a site's inbox.
type entry struct {
	name     string // of the znode
	guid, id string
	seq      int32
}

// entryPrefix is the prefix of an entry's name; ZooKeeper appends the number.
func entryPrefix(guid, id string) string { return protect(guid, id+"-") }

// entries returns the transactions among an inbox's children, oldest first. It ignores other names.
//
// All sites take transactions in the same order, the order of their beginnings. So the oldest
// transaction never waits for room at a site.
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
		return cmp.Or(znode.CompareSeq(a.seq, b.seq), strings.Compare(a.name, b.name))
	})
	return all
}

// Outcome is the state of a transaction, or a vote.
type Outcome int

// The outcomes.
const (
	Undecided Outcome = iota
	Committed
	Aborted
)

var outcomes = [...]string{Undecided: "undecided", Committed: "committed", Aborted: "aborted"}

// String returns the word that records contain.
func (o Outcome) String() string {
	if o < 0 || int(o) >= len(outcomes) {
		return "no outcome"
	}
	return outcomes[o]
}

// MarshalText returns String.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText parses what MarshalText wrote.
func (o *Outcome) UnmarshalText(text []byte) error {
	i := slices.Index(outcomes[:], string(text))
	if i < 0 {
		return errors.New("not an outcome: " + string(text))
	}
	*o = Outcome(i)
	return nil
}

// Record is the data of a transaction's znode.
type Record struct {
	GUID        string   `json:"guid"`
	Sites       []string `json:"sites"`
	Coordinator string   `json:"coordinator"` // the GUID of its presence
	Peers       bool     `json:"peers,omitempty"`
	State       Outcome  `json:"state"`
	By          string   `json:"by,omitempty"` // the site whose vote aborted the transaction
	Reason      string   `json:"reason,omitempty"`
}

func (r Record) bytes() []byte {
	data, err := json.Marshal(r)
	if err != nil { // cannot fail
		panic(err)
	}
	return data
}

func (r Record) decided(o Outcome, by, reason string) Record {
	r.State, r.By, r.Reason = o, by, reason
	return r
}

// ParseRecord parses a record. It returns false if the data are foreign.
func ParseRecord(data []byte) (Record, bool) {
	var r Record
	if err := json.Unmarshal(data, &r); err != nil || r.GUID == "" {
		return Record{}, false
	}
	return r, true
}

// Vote is a site's vote.
type Vote struct {
	Site   string
	Commit bool
	Reason string
}

const yes, no = "commit", "abort"

// Outcome is the outcome for which the site votes.
func (v Vote) Outcome() Outcome {
	if v.Commit {
		return Committed
	}
	return Aborted
}

func (v Vote) bytes() []byte {
	if v.Commit {
		return []byte(yes)
	}
	return []byte(no + "\n" + v.Reason)
}

// ParseVote parses a vote that was written. Data that are neither are a vote to abort: they can't
// be a site's promise.
func ParseVote(site string, data []byte) Vote {
	word, reason, _ := strings.Cut(string(data), "\n")
	switch word {
	case yes:
		return Vote{Site: site, Commit: true}
	case no:
		return Vote{Site: site, Reason: reason}
	}
	return Vote{Site: site, Reason: "not a vote"}
}
