package double

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/troupe-go/troupe/internal/sentinel"
	"github.com/troupe-go/troupe/internal/znode"
)

const (
	roundPrefix = "round-"
	partyPrefix = "party-" // it follows the GUID, which makes the name unique
	arrivals    = "in"
	departures  = "out"
	fixtures    = 2 // the children of a round that are not parties: in and out
)

// RoundPath returns the path of a round of the barrier at path.
func RoundPath(path string, number int64) string {
	return znode.Join(path, fmt.Sprintf(roundPrefix+"%010d", number))
}

// Rounds returns the numbers of the rounds among a barrier's children, in order. It ignores other
// names.
func Rounds(names []string) []int64 {
	var numbers []int64
	for _, name := range names {
		digits, ok := strings.CutPrefix(name, roundPrefix)
		if !ok || len(digits) < 10 {
			continue
		}
		n, err := strconv.ParseInt(digits, 10, 64)
		if err == nil && n > 0 && n < 1<<62 && fmt.Sprintf("%010d", n) == digits {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers
}

// PartyName returns the name of a party's znode. The name contains the number of parties that the
// party expects.
func PartyName(guid znode.GUID, id string, parties int) string {
	return znode.Protect(guid, partyPrefix+strconv.Itoa(parties)+"-"+id)
}

// PartyID returns the id in the name of a party's znode; false for the name of another znode.
func PartyID(name string) (id string, ok bool) {
	id, parties := parseParty(name)
	return id, parties > 0
}

// parseParty parses the name of a party's znode. parties is 0 for the name of another znode.
func parseParty(name string) (id string, parties int) {
	_, rest, protected := znode.Protection(name)
	rest, ok := strings.CutPrefix(rest, partyPrefix)
	number, id, cut := strings.Cut(rest, "-")
	parties, err := strconv.Atoi(number)
	if !protected || !ok || !cut || id == "" || err != nil || parties < 1 {
		return "", 0
	}
	return id, parties
}

// allExpect reports whether every party among a round's children expects this number of parties.
func allExpect(names []string, parties int) bool {
	return !slices.ContainsFunc(names, func(name string) bool {
		_, n := parseParty(name)
		return n != 0 && n != parties
	})
}

// byID returns the names of the parties among a round's children, by id. An id may have several.
func byID(names []string) map[string][]string {
	found := make(map[string][]string)
	for _, name := range names {
		if id, ok := PartyID(name); ok {
			found[id] = append(found[id], name)
		}
	}
	return found
}

// nameOf returns the first name of a party with the id; "" if there is none.
func nameOf(names []string, id string) string {
	i := slices.IndexFunc(names, func(name string) bool {
		other, _ := PartyID(name)
		return other == id
	})
	if i < 0 {
		return ""
	}
	return names[i]
}

// position returns the position of a name in a sorted list.
func position(names []string, name string) (int, bool) { return slices.BinarySearch(names, name) }

// Present returns the number of parties in a round, from the number of its children.
func Present(children int32) int { return int(children) - fixtures }

// Verdict is the data of a round.
type Verdict struct {
	Kind    Kind
	Parties int      // the number of parties expected
	Names   []string // if Released: the names of the members' znodes, sorted
	Why     Cause    // Broken
}

// Kind is the state of a round.
type Kind int

// The states of a round. Open becomes one of the others, once.
const (
	Unreadable Kind = iota // data that no party has written
	Open
	Released
	Broken
)

// Cause is why a round was broken.
type Cause string

// The causes.
const (
	Differing Cause = "differing" // the parties disagree about their number
	Crowd     Cause = "crowd"     // there are more parties than expected
	Asked     Cause = "asked"     // the application has called Break
)

// Bytes returns the data of the round.
func (v Verdict) Bytes() []byte {
	switch v.Kind {
	case Released:
		return []byte(fmt.Sprintf("released %d\n", v.Parties) + strings.Join(v.Names, "\n"))
	case Broken:
		return fmt.Appendf(nil, "broken %d\n%s", v.Parties, v.Why)
	default:
		return fmt.Appendf(nil, "open %d", v.Parties)
	}
}

// ParseVerdict parses the data of a round.
func ParseVerdict(data []byte) Verdict {
	head, rest, _ := strings.Cut(string(data), "\n")
	word, number, _ := strings.Cut(head, " ")
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 {
		return Verdict{}
	}
	switch word {
	case "open":
		return Verdict{Kind: Open, Parties: n}
	case "broken":
		return Verdict{Kind: Broken, Parties: n, Why: Cause(rest)}
	case "released":
		names := strings.Split(rest, "\n")
		if len(names) == n && slices.IsSorted(names) {
			return Verdict{Kind: Released, Parties: n, Names: names}
		}
	}
	return Verdict{}
}

// full reports whether all members of a released round are present. One more party is one too many
// then.
func (v Verdict) full(children int32) bool {
	return v.Kind == Released && Present(children) >= len(v.Names)
}

// The errors of claims.
const (
	ErrBroken    = sentinel.ConstError("the round was broken")
	ErrDiffering = sentinel.ConstError("the parties disagree about their number")
	ErrCrowd     = sentinel.ConstError("too many parties")
	ErrReplaced  = sentinel.ConstError("replaced by a later party with the same name")
)

// broken returns the error for a round that was broken.
func broken(v Verdict) error {
	switch {
	case v.Kind != Broken:
		return fmt.Errorf("%w: foreign data in the znode of the round", ErrBroken)
	case v.Why == Differing:
		return fmt.Errorf("%w: %w", ErrBroken, ErrDiffering)
	case v.Why == Crowd:
		return fmt.Errorf("%w: %w", ErrBroken, ErrCrowd)
	}
	return ErrBroken
}
