package protocol

// Phase is the progress of a transaction at a coordinator or at a site.
type Phase int

// The phases at a coordinator.
const (
	Beginning     Phase = iota + 1 // the transaction is being written
	Recovering                     // it is being taken over
	Preparing                      // votes are awaited
	Deciding                       // the decision is being written
	Acknowledging                  // the coordinator deletes its mark, and the whole if it is the last participant
	Ended                          // nothing is left to do
)

// The phases at a site.
const (
	Reading  Phase = iota + 10 // found in the inbox
	Proposed                   // the application has it, and has not voted
	Voting                     // the vote is being written
	InDoubt                    // voted to commit, without knowing the decision
	Resolved                   // the decision is known
	Lost                       // the transaction is gone
	Leaving                    // acknowledged: the site deletes its znodes
	Left                       // nothing is left to do
)

var phases = map[Phase]string{
	Beginning: "Beginning", Recovering: "Recovering", Preparing: "Preparing", Deciding: "Deciding", Acknowledging: "Acknowledging", Ended: "Ended",
	Reading: "Reading", Proposed: "Proposed", Voting: "Voting", InDoubt: "InDoubt", Resolved: "Resolved", Lost: "Lost", Leaving: "Leaving", Left: "Left",
}

// String is the phase's name.
func (p Phase) String() string {
	if name, ok := phases[p]; ok {
		return name
	}
	return "no phase"
}

// Transition is a change of a transaction's phase, with its reason.
type Transition struct {
	From, To Phase
	Why      string
}

// Transitions returns all allowed transitions. The tests check every transition against them.
func Transitions() []Transition {
	return []Transition{
		{Beginning, Preparing, "it exists in ZooKeeper"},
		{Beginning, Ended, "refused, or given up before it existed, or found acknowledged by another coordinator"},
		{Recovering, Preparing, "its coordinator is dead, and it is undecided"},
		{Recovering, Ended, "there is nothing to take over; or it is decided, and the application has the outcome"},
		{Preparing, Deciding, "all have voted to commit; or there is a reason to abort"},
		{Preparing, Ended, "another participant decided; or it is gone; or it may not be read, and the coordinator closes"},
		{Deciding, Preparing, "another decision may have come first, or the reply was lost, or a vote has changed; or the decision may not be written"},
		{Deciding, Ended, "it is decided; or it is gone"},
		{Acknowledging, Ended, "the coordinator's mark is deleted, or may not be deleted"},

		{Reading, Proposed, "the application has it"},
		{Proposed, Voting, "the application has voted"},
		{Proposed, InDoubt, "the vote to commit is written"},
		{Proposed, Resolved, "it was decided without this site, or together with its vote"},
		{Proposed, Lost, "it is gone"},
		{Voting, Proposed, "the reply is there; the record is read again if need be"},
		{InDoubt, Resolved, "the decision is known"},
		{InDoubt, Lost, "it is gone, and the decision cannot be known"},
		{Resolved, Leaving, "acknowledged"},
		{Lost, Leaving, "acknowledged"},
		{Leaving, Resolved, "the site's znodes may not be deleted"},
		{Leaving, Left, "the site's znodes are deleted"},
	}
}
