package pact

import (
	"encoding/json"
	"errors"
	"strings"
)

// Outcome is how a transaction stands, and what a vote says.
type Outcome int

// The outcomes.
const (
	Undecided Outcome = iota
	Committed
	Aborted
)

var outcomes = [...]string{Undecided: "undecided", Committed: "committed", Aborted: "aborted"}

// String is the word that stands in records.
func (o Outcome) String() string {
	if o < 0 || int(o) >= len(outcomes) {
		return "no outcome"
	}
	return outcomes[o]
}

// MarshalText is String.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText is what MarshalText wrote.
func (o *Outcome) UnmarshalText(text []byte) error {
	for i, word := range outcomes {
		if word == string(text) {
			*o = Outcome(i)
			return nil
		}
	}
	return errors.New("not an outcome: " + string(text))
}

// Record is what stands in a transaction's znode.
type Record struct {
	GUID        string   `json:"guid"`
	Sites       []string `json:"sites"`
	Coordinator string   `json:"coordinator"`      // the GUID of its presence
	Origin      string   `json:"origin,omitempty"` // the one that began it, if another took it over
	Others      bool     `json:"others,omitempty"` // took it over, too, and may live on
	Acked       string   `json:"acked,omitempty"`  // of a tombstone: the coordinator that left it
	Peers       bool     `json:"peers,omitempty"`
	State       Outcome  `json:"state"`
	By          string   `json:"by,omitempty"` // the site whose vote aborted it
	Reason      string   `json:"reason,omitempty"`
}

// Shared is the coordinators that may have a transaction that was taken over: whose session expired
// may live on. It is zero if none has taken it over before it was decided: who does so later learns
// the outcome with it.
type Shared struct {
	First, Last string // GUIDs
	More        bool   // there are others
}

func (r Record) shared() Shared {
	if r.Origin == "" {
		return Shared{}
	}
	return Shared{First: r.Origin, Last: r.Coordinator, More: r.Others}
}

// claimedBy is the record once a coordinator has taken the transaction over.
func (r Record) claimedBy(guid string) Record {
	switch {
	case r.Coordinator == guid:
	case r.Origin == "":
		r.Origin = r.Coordinator
	case r.Coordinator != r.Origin:
		r.Others = true
	}
	r.Coordinator = guid
	return r
}

// concerns tells whether a coordinator is the only one that may still need what another has left in
// a tombstone.
func (r Record) concerns(guid string) bool {
	return r.Acked != "" && r.Acked != guid && !r.Others && (guid == r.Origin || guid == r.Coordinator)
}

func (r Record) bytes() []byte {
	data, err := json.Marshal(r)
	if err != nil { // it has nothing that could fail
		panic(err)
	}
	return data
}

func (r Record) decided(o Outcome, by, reason string) Record {
	r.State, r.By, r.Reason = o, by, reason
	return r
}

// parseRecord reads a record. What is none is somebody else's, and no transaction.
func parseRecord(data []byte) (Record, bool) {
	var r Record
	if err := json.Unmarshal(data, &r); err != nil || r.GUID == "" {
		return Record{}, false
	}
	return r, true
}

// Vote is what a site said.
type Vote struct {
	Site   string
	Commit bool
	Reason string
}

const (
	yes = "commit"
	no  = "abort"
)

func (v Vote) bytes() []byte {
	if v.Commit {
		return []byte(yes)
	}
	return []byte(no + "\n" + v.Reason)
}

// parseVote reads a vote znode that was written to. What is no word for commit is an abort: nobody
// can have promised anything by it.
func parseVote(site string, data []byte) Vote {
	word, reason, _ := strings.Cut(string(data), "\n")
	switch word {
	case yes:
		return Vote{Site: site, Commit: true}
	case no:
		return Vote{Site: site, Reason: reason}
	}
	return Vote{Site: site, Reason: "not a vote"}
}
