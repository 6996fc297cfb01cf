package twopc

import "github.com/troupe-go/troupe/recipes/twopc/internal/protocol"

// Outcome is the state of a transaction, or a vote. Once it is not Undecided it never changes, for
// any party.
type Outcome int

// The outcomes.
const (
	Undecided Outcome = Outcome(protocol.Undecided) // not decided, or not known here; no vote yet
	Committed Outcome = Outcome(protocol.Committed) // every site has voted to commit; a vote to commit
	Aborted   Outcome = Outcome(protocol.Aborted)   // decided not to commit; a vote to abort
)

// String is the outcome's name, in lower case.
func (o Outcome) String() string { return protocol.Outcome(o).String() }

// Vote is a site's vote on a transaction.
type Vote struct {
	Site   string // its name
	Commit bool   // false: to abort
	Reason string // of a vote to abort
}
