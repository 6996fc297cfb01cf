package double

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Verdict is what a round's data say.
type Verdict struct {
	Kind    Kind
	Parties int      // how many there have to be
	Names   []string // Released: of their znodes, sorted
	Why     Cause    // Broken
}

// Kind is how a round stands.
type Kind int

// How a round stands. Open becomes one of the others, once and for ever.
const (
	Unreadable Kind = iota // data that no barrier has written
	Open
	Released
	Broken
)

// Cause is why a round was broken.
type Cause string

// Why a round is broken.
const (
	Differing Cause = "differing" // its parties don't agree on their number
	Crowd     Cause = "crowd"     // more parties stand in it than there are to be
	Asked     Cause = "asked"     // somebody wanted it
)

// Bytes is the verdict as it is written into the round.
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

// ParseVerdict reads a round's data.
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

// crowded tells whether a round that goes on has all its parties standing, so that one more is one
// too many.
func (v Verdict) crowded(children int32) bool {
	return v.Kind == Released && Present(children) >= len(v.Names)
}
