package protocol

import (
	"encoding/json"
	"errors"
	"strings"
)

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
	for i, word := range outcomes {
		if word == string(text) {
			*o = Outcome(i)
			return nil
		}
	}
	return errors.New("not an outcome: " + string(text))
}

// Record is the data of a transaction's znode.
type Record struct {
	GUID        string   `json:"guid"`
	Sites       []string `json:"sites"`
	Coordinator string   `json:"coordinator"`      // the GUID of its presence
	Origin      string   `json:"origin,omitempty"` // the coordinator that began it, if another one took it over
	Others      bool     `json:"others,omitempty"` // further coordinators took it over, and may be alive
	Acked       string   `json:"acked,omitempty"`  // in a tombstone: the coordinator that created it
	Peers       bool     `json:"peers,omitempty"`
	State       Outcome  `json:"state"`
	By          string   `json:"by,omitempty"` // the site whose vote aborted it
	Reason      string   `json:"reason,omitempty"`
}

// Shared is the coordinators that may have a transaction that was taken over, because a coordinator
// whose session has expired may be alive. It is zero if none took it over before it was decided: a
// later one learns the outcome when it does.
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

// claimedBy returns the record after a coordinator has taken the transaction over.
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

// concerns reports whether this coordinator is the only one that may still need the outcome that
// another one left in a tombstone.
func (r Record) concerns(guid string) bool {
	return r.Acked != "" && r.Acked != guid && !r.Others && (guid == r.Origin || guid == r.Coordinator)
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

// parseRecord parses a record. It returns false if the data are foreign.
func parseRecord(data []byte) (Record, bool) {
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

const (
	yes = "commit"
	no  = "abort"
)

func (v Vote) outcome() Outcome {
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

// parseVote parses a vote that was written. Anything other than a commit is an abort: no site can
// have promised anything with it.
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
