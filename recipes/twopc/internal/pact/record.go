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
	return errors.New("no outcome: " + string(text))
}

// Record is what stands in a transaction's znode.
type Record struct {
	GUID        string   `json:"guid"`
	Sites       []string `json:"sites"`
	Coordinator string   `json:"coordinator"` // the GUID of its presence
	Peers       bool     `json:"peers,omitempty"`
	State       Outcome  `json:"state"`
	By          string   `json:"by,omitempty"` // the site whose vote aborted it
	Reason      string   `json:"reason,omitempty"`
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

// parseVote reads a vote znode that was written to. What is no word for commit is an abort: nobody can have promised anything by it.
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
