package pact

// Phase is the progress of a transaction at a coordinator or at a site.
type Phase int

// The phases at a coordinator.
const (
	Beginning Phase = iota + 1 // the transaction is being written
	Claiming                   // it is being taken over
	Open                       // votes are awaited
	Deciding                   // the decision is being written
	Settling                   // acknowledged; the coordinator deletes its mark, and the whole if it is the last
	Ended                      // nothing is left to do
)

// The phases at a site.
const (
	Reading  Phase = iota + 10 // found in the inbox
	Asked                      // delivered to the application, which has not voted
	Voting                     // the vote is being written
	Bound                      // voted to commit, without knowing the decision: in doubt
	Resolved                   // the decision is known
	Lost                       // the transaction is gone
	Leaving                    // acknowledged: the site deletes its znodes
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
