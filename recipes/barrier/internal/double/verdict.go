package double

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/troupe-go/troupe/internal/sentinel"
)

// Verdict is the data of a round.
type Verdict struct {
	Kind    Kind
	Parties int      // how many are expected
	Names   []string // Released: of their znodes, sorted
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
	Differing Cause = "differing" // its parties disagree about their number
	Crowd     Cause = "crowd"     // there are more parties than expected
	Asked     Cause = "asked"     // it was asked for
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

// full reports whether all members of a released round are present, so that one more party is one
// too many.
func (v Verdict) full(children int32) bool {
	return v.Kind == Released && Present(children) >= len(v.Names)
}

// The errors of claims.
const (
	ErrBroken    = sentinel.ConstError("barrier: the round was broken")
	ErrDiffering = sentinel.ConstError("barrier: the parties disagree about their number")
	ErrCrowd     = sentinel.ConstError("barrier: too many parties")
	ErrReplaced  = sentinel.ConstError("barrier: replaced by a later party with the same id")
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
