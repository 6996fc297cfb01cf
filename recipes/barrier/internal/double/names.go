package double

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/troupe-go/troupe/internal/znode"
)

const (
	roundPrefix = "round-"
	partyPrefix = "party-" // behind the protection, which makes the name one that never comes again
	arrivals    = "in"
	departures  = "out"
	fixtures    = 2 // children of a round that are no parties: the two above
)

// RoundPath is where a round of the barrier at path stands.
func RoundPath(path string, number int64) string {
	return znode.Join(path, fmt.Sprintf(roundPrefix+"%010d", number))
}

// Rounds are the numbers of the rounds among a barrier's children, in order. Foreign names are
// ignored.
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

// PartyName is the name of a znode of a party, which says how many it takes the parties to be.
func PartyName(guid znode.GUID, id string, parties int) string {
	return znode.Protect(guid, partyPrefix+strconv.Itoa(parties)+"-"+id)
}

// PartyID is the id of the party with a znode of that name; false if it is none's.
func PartyID(name string) (id string, ok bool) {
	id, parties := parseParty(name)
	return id, parties > 0
}

// parseParty reads a party's name; 0 parties if it is none's.
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

// agreed tells whether every party among a round's children takes them to be so many.
func agreed(names []string, parties int) bool {
	return !slices.ContainsFunc(names, func(name string) bool {
		_, n := parseParty(name)
		return n != 0 && n != parties
	})
}

// byID are the names of parties among a round's children: of each id all there are, in no order.
func byID(names []string) map[string][]string {
	found := make(map[string][]string)
	for _, name := range names {
		if id, ok := PartyID(name); ok {
			found[id] = append(found[id], name)
		}
	}
	return found
}

// has tells whether one of the names is that of a party with the id.
func has(names []string, id string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		other, _ := PartyID(name)
		return other == id
	})
}

// position finds a name in a sorted list.
func position(names []string, name string) (int, bool) { return slices.BinarySearch(names, name) }

// Present is how many parties stand in a round, by the number of its children.
func Present(children int32) int { return int(children) - fixtures }
