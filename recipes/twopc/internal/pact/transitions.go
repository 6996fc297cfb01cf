package pact

// Transition is a change of a transaction's phase, with its reason.
type Transition struct {
	From, To Phase
	Why      string
}

// Transitions returns all allowed transitions. The tests check every transition against them.
func Transitions() []Transition {
	return []Transition{
		{Beginning, Open, "it stands in ZooKeeper"},
		{Beginning, Ended, "refused, or given up before it stood, or found acknowledged by another coordinator"},
		{Claiming, Open, "its coordinator is dead, and it is undecided"},
		{Claiming, Ended, "there is nothing to take over; or it is decided, and the application has the outcome"},
		{Open, Deciding, "all have agreed; or there is a reason to abort"},
		{Open, Ended, "somebody else decided; or it is gone; or may not be read, and the coordinator closes"},
		{Deciding, Open, "somebody was quicker, or the answer was lost, or a vote is not what it was; or it may not be written"},
		{Deciding, Ended, "the decision stands; or it is gone"},
		{Settling, Ended, "the coordinator's mark is gone, or may not be deleted"},

		{Reading, Asked, "the application has it"},
		{Asked, Voting, "the application has voted"},
		{Asked, Bound, "the vote to commit stands"},
		{Asked, Resolved, "it was decided without this site, or together with its vote"},
		{Asked, Lost, "it is gone"},
		{Voting, Asked, "the answer is there; what is known is looked at anew"},
		{Bound, Resolved, "the decision is known"},
		{Bound, Lost, "it is gone, and nobody knows how it was decided"},
		{Resolved, Leaving, "acknowledged"},
		{Lost, Leaving, "acknowledged"},
		{Leaving, Resolved, "the site's znodes may not be deleted"},
		{Leaving, Left, "the site's znodes are deleted"},
	}
}
