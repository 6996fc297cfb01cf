package double

import "slices"

// Transition is a declared change of state. An event that is not declared for a state leaves the
// state as it is.
type Transition struct {
	From State // Any stands for every state
	On   string
	To   State // Next stands for Idle, Looking or Standing: whatever is wanted next
	Why  string
}

// Stand-ins in the table.
const (
	Any  State = -1
	Next State = -2
)

// Transitions lists every change of state that the machine may make.
func Transitions() []Transition { return slices.Clone(table) }

var table = []Transition{
	{Any, "EpochEnded", Out, "whatever stood is gone, or about to be"},
	{Out, "EpochBegan", Next, "what is wanted is taken up again"},
	{Out, "EpochBegan", Marking, "it was in a round, and is no more: it says that it is out, and follows the round to its end"},

	{Idle, "Wanted", Next, "it arrives"},
	{Idle, "Deferred", Next, "no passage came of a claim, and its round is over: it arrives again"},
	{Idle, "Followed", Marking, "a crash: it is out of a round that may not be over"},

	{Looking, "Listed", Founding, "there is no round, or not even the barrier"},
	{Looking, "Listed", Sweeping, "there are rounds before the newest"},
	{Looking, "Listed", Next, "the newest round is known, or may not be"},
	{Looking, "Seen", Founding, "the newest round is decided, or not whole, and the next is missing"},
	{Looking, "Seen", Next, "the newest round is open"},

	{Founding, "Transacted", Next, "the round was made, or somebody else was first, or it is refused"},
	{Founding, "Ensured", Next, "the barrier may not be made"},

	{Sweeping, "Seen", Next, "somebody is in the last of the old rounds, or it is gone; or it is full, and this party one too many"},
	{Sweeping, "Listed", Next, "it is gone by now"},
	{Sweeping, "Transacted", Next, "it was deleted, or somebody is in it after all"},

	{Standing, "Transacted", Waiting, "it has arrived"},
	{Standing, "Transacted", Finding, "the answer was lost"},
	{Standing, "Transacted", Next, "the round is open no more, or gone, or not whole; or it is refused"},
	{Finding, "Seen", Waiting, "it has arrived"},
	{Finding, "Seen", Next, "it has not; or a look is refused"},

	{Waiting, "Listed", Counting, "the own znode is seen, and the round before: it may be the last one needed, or the parties may differ in their number"},
	{Waiting, "Listed", Deciding, "the same, and nobody else stands in a round that was made for another number"},
	{Waiting, "Listed", Inside, "the same, and the round is released"},
	{Waiting, "Listed", Marking, "the same, and nobody wants it any more"},
	{Waiting, "Listed", Clearing, "the same, and the round is broken"},
	{Waiting, "Listed", Withdrawing, "the same, the round is open, and nobody wants it any more"},
	{Waiting, "Listed", Next, "the own znode is gone"},
	{Waiting, "Seen", Counting, "enough stand, and its arrival was late enough to be the last one needed; or the parties may differ in their number"},
	{Waiting, "Seen", Deciding, "nobody else stands in a round that was made for another number"},
	{Waiting, "Seen", Inside, "the round is released"},
	{Waiting, "Seen", Marking, "the round is released, and nobody wants it any more: it leaves at once"},
	{Waiting, "Seen", Clearing, "the round is broken, or released without this party"},
	{Waiting, "Seen", Withdrawing, "the round is open, and nobody wants it any more"},
	{Waiting, "Seen", Next, "the round is gone"},
	{Waiting, "Deleted", Next, "the own znode is gone: it arrives again"},
	{Waiting, "Withdrawn", Withdrawing, "nobody wants it any more"},
	{Waiting, "Closing", Withdrawing, "nobody wants it any more"},

	{Counting, "Listed", Deciding, "there are as many as agreed, or more; or it is known whether they differ in their number"},
	{Counting, "Listed", Waiting, "there are fewer, or there is news of the round"},
	{Counting, "Listed", Withdrawing, "there are fewer, and nobody wants it any more"},
	{Counting, "Listed", Next, "the own znode is gone"},
	{Counting, "Seen", Deciding, "of those that share an id the latest is known"},

	{Deciding, "Transacted", Inside, "it has released the round"},
	{Deciding, "Transacted", Marking, "it has released the round, and nobody wants it any more"},
	{Deciding, "Transacted", Clearing, "it has broken the round"},
	{Deciding, "Transacted", Waiting, "somebody else has decided, arrived or died; or it is not known"},
	{Deciding, "Transacted", Next, "the own znode is gone"},

	{Inside, "Deferred", Ready, "no possession is possible now"},
	{Inside, "Departed", Marking, "it departs, or its passage was lost"},
	{Inside, "Withdrawn", Marking, "nobody wants the passage"},
	{Inside, "Deleted", Marking, "somebody deleted the own znode: the passage is lost"},
	{Inside, "Closing", Marking, "it departs"},
	{Ready, "TrustGained", Inside, "a possession may be possible now"},
	{Ready, "Resumed", Inside, "the same"},
	{Ready, "Withdrawn", Marking, "nobody wants the passage"},
	{Ready, "Deleted", Next, "somebody deleted the own znode: it arrives again, in the next round"},
	{Ready, "Closing", Marking, "it departs"},

	{Withdrawing, "Transacted", Next, "it has withdrawn, or its znode is gone"},
	{Withdrawing, "Transacted", Waiting, "the verdict was first: it is read"},
	{Clearing, "Transacted", Next, "the broken round is deleted, or others stand in it still"},
	{Clearing, "Removed", Next, "the own znode is gone, and it winds up"},

	{Marking, "Transacted", Following, "not all are out"},
	{Marking, "Transacted", Tallying, "it had been said before: how many are out is not known"},
	{Marking, "Transacted", Closing, "all are out"},
	{Marking, "Transacted", Clearing, "not all are out, and it winds up"},
	{Marking, "Transacted", Next, "the round is over"},
	{Tallying, "Seen", Following, "not all are out"},
	{Tallying, "Seen", Closing, "all are out"},
	{Tallying, "Seen", Clearing, "not all are out, and it winds up"},
	{Tallying, "Seen", Next, "the round is over"},
	{Following, "Seen", Leaving, "its neighbour stands"},
	{Following, "Seen", Marking, "its neighbour is gone"},
	{Following, "Closing", Clearing, "it winds up"},
	{Leaving, "Deleted", Marking, "its neighbour has died"},
	{Leaving, "Changed", Next, "the round is over"},
	{Leaving, "Closing", Clearing, "it winds up"},
	{Closing, "Transacted", Next, "the round is over"},
	{Closing, "Listed", Next, "somebody else has closed it"},
}
