package pact

// Phase is how far a transaction has come at a coordinator, or at a site.
type Phase int

// The phases at a coordinator.
const (
	Beginning Phase = iota + 1 // it is being written
	Claiming                   // it is being taken over
	Open                       // the votes come in
	Deciding                   // the decision is being written
	Settling                   // acknowledged; the coordinator's mark is taken away, and the whole if it is last
	Ended                      // nothing is left to do
)

// The phases at a site.
const (
	Reading  Phase = iota + 10 // it was found in the inbox
	Asked                      // the application has it, and has not voted
	Voting                     // the vote is being written
	Bound                      // voted to commit, and does not know the decision: in doubt
	Resolved                   // the decision is known
	Lost                       // the transaction is gone
	Leaving                    // acknowledged: the site's znodes are taken away
	Left                       // nothing is left to do
)

var phases = map[Phase]string{
	Beginning: "Beginning", Claiming: "Claiming", Open: "Open", Deciding: "Deciding", Settling: "Settling", Ended: "Ended",
	Reading: "Reading", Asked: "Asked", Voting: "Voting", Bound: "Bound", Resolved: "Resolved", Lost: "Lost", Leaving: "Leaving", Left: "Left",
}

// String is the phase's name.
func (p Phase) String() string {
	if name, ok := phases[p]; ok {
		return name
	}
	return "no phase"
}
