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
	partyPrefix = "party-"
	arrivals    = "in"
	departures  = "out"
	fixtures    = 2 // children of a round that are no parties: the two above
)

// RoundPath is where a round of the barrier at path stands.
func RoundPath(path string, number int64) string {
	return znode.Join(path, fmt.Sprintf(roundPrefix+"%010d", number))
}

// Rounds are the numbers of the rounds among a barrier's children, in order. Foreign names are ignored.
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

// PartyName is the name of the znode of a party.
func PartyName(id string) string { return partyPrefix + id }

// PartyID is the id of the party with a znode of that name; false if it is none's.
func PartyID(name string) (id string, ok bool) {
	id, ok = strings.CutPrefix(name, partyPrefix)
	return id, ok && id != ""
}

// parties are the names of parties among a round's children, sorted.
func parties(names []string) []string {
	var found []string
	for _, name := range names {
		if _, ok := PartyID(name); ok {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found
}

// Present is how many parties stand in a round, by the number of its children.
func Present(children int32) int { return int(children) - fixtures }
