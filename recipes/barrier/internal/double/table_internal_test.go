package double

import "slices"

// Transition is a declared change of state. An event that is not declared for a state does not
// change it.
type Transition struct {
	From State // Any stands for every state
	On   string
	To   State // Next stands for Idle, Looking or Arriving: whatever is wanted next
	Why  string
}

// Placeholders in the table.
const (
	Any  State = -1
	Next State = -2
)

// Transitions returns all allowed changes of state. The tests check every change against them.
func Transitions() []Transition { return slices.Clone(table) }

var table = []Transition{
	{Any, "EpochEnded", NoEpoch, "the znodes of the epoch are gone, or about to be"},
	{NoEpoch, "EpochBegan", Next, "what is wanted is taken up again"},
	{NoEpoch, "EpochBegan", Departing, "it was a member of a round: it departs, and follows the round to its end"},

	{Idle, "Wanted", Next, "it arrives"},
	{Idle, "Deferred", Next, "no passage came of a claim, and its round is over: it arrives again"},
	{Idle, "Followed", Departing, "a crash: it departs from a round that may not be over"},

	{Looking, "Listed", Creating, "there is no round, or no barrier"},
	{Looking, "Listed", Cleaning, "there are older rounds"},
	{Looking, "Listed", Next, "the newest round is known; or may not be read"},
	{Looking, "Seen", Creating, "the newest round is decided, or incomplete, and the next is missing"},
	{Looking, "Seen", Next, "the newest round is open"},

	{Creating, "Transacted", Next, "the round exists; or that is refused"},
	{Creating, "Ensured", Next, "the barrier may not be created"},

	{Cleaning, "Seen", Next, "there is a party in the last of the older rounds, or it is gone; or it is full, and this party is one too many"},
	{Cleaning, "Listed", Next, "it is gone by now"},
	{Cleaning, "Transacted", Next, "it is deleted, or there is a party in it after all"},
	{Cleaning, "Deleted", Looking, "the other process of its id, which it waited for, is gone"},
	{Cleaning, "Changed", Looking, "the round of that other process is over"},

	{Arriving, "Transacted", Waiting, "it has arrived"},
	{Arriving, "Transacted", Resolving, "the reply was lost"},
	{Arriving, "Transacted", Next, "the round is not open any more, or gone, or incomplete; or that is refused"},
	{Resolving, "Seen", Waiting, "it has arrived"},
	{Resolving, "Seen", Next, "it has not; or the read is refused"},

	{Waiting, "Listed", Counting, "the own znode is seen, after the round: this may be the last party needed, or the parties may disagree about their number"},
	{Waiting, "Listed", Deciding, "the same, and there is no other party in a round that was created for another number"},
	{Waiting, "Listed", Member, "the same, and the round is released"},
	{Waiting, "Listed", Departing, "the same, and the claim is withdrawn"},
	{Waiting, "Listed", Removing, "the same, and the round is broken"},
	{Waiting, "Listed", Withdrawing, "the same, the round is open, and the claim is withdrawn"},
	{Waiting, "Listed", Next, "the own znode is gone"},
	{Waiting, "Seen", Counting, "enough parties are present, and it arrived late enough to be the last one needed; or the parties may disagree about their number"},
	{Waiting, "Seen", Deciding, "there is no other party in a round that was created for another number"},
	{Waiting, "Seen", Member, "the round is released"},
	{Waiting, "Seen", Departing, "the round is released, and the claim is withdrawn: it leaves at once"},
	{Waiting, "Seen", Removing, "the round is broken, or released without this party"},
	{Waiting, "Seen", Withdrawing, "the round is open, and the claim is withdrawn"},
	{Waiting, "Seen", Next, "the round is gone"},
	{Waiting, "Deleted", Next, "the own znode is gone: it arrives again"},
	{Waiting, "Withdrawn", Withdrawing, "the claim is withdrawn"},
	{Waiting, "Closing", Withdrawing, "the claim is withdrawn"},

	{Counting, "Listed", Deciding, "there are as many parties as agreed, or more; or it is known whether they agree about their number"},
	{Counting, "Listed", Waiting, "there are fewer, or the round has changed"},
	{Counting, "Listed", Withdrawing, "there are fewer, and the claim is withdrawn"},
	{Counting, "Listed", Next, "the own znode is gone"},
	{Counting, "Seen", Deciding, "of the znodes that share an id the latest is known"},
	{Counting, "Seen", Next, "the own znode is gone"},

	{Deciding, "Transacted", Member, "it has released the round"},
	{Deciding, "Transacted", Departing, "it has released the round, and the claim is withdrawn"},
	{Deciding, "Transacted", Removing, "it has broken the round, or released it with a later process of its id"},
	{Deciding, "Transacted", Waiting, "another party has decided, arrived or died; or that is not known"},
	{Deciding, "Transacted", Next, "the own znode is gone"},

	{Member, "Deferred", Ready, "no possession is possible now"},
	{Member, "Departed", Departing, "it departs, or its passage was lost"},
	{Member, "Withdrawn", Departing, "the claim is withdrawn"},
	{Member, "Deleted", Departing, "another client deleted the own znode: the passage is lost"},
	{Member, "Closing", Departing, "it departs"},
	{Ready, "TrustGained", Member, "a possession may be possible now"},
	{Ready, "Resumed", Member, "the same"},
	{Ready, "Withdrawn", Departing, "the claim is withdrawn"},
	{Ready, "Deleted", Next, "another client deleted the own znode: it arrives again, in the next round"},
	{Ready, "Closing", Departing, "it departs"},

	{Withdrawing, "Transacted", Next, "it has withdrawn, or its znode is gone"},
	{Withdrawing, "Transacted", Waiting, "the verdict was first: it is read"},
	{Removing, "Transacted", Next, "the broken round is deleted, or there are other parties in it"},
	{Removing, "Removed", Next, "the own znode is gone, and the instance closes"},

	{Departing, "Transacted", Watching, "not all have departed"},
	{Departing, "Transacted", CountingDepartures, "it was recorded before: how many have departed is not known"},
	{Departing, "Transacted", Deleting, "all have departed"},
	{Departing, "Transacted", Removing, "not all have departed, and the instance closes"},
	{Departing, "Transacted", Next, "the round is over"},
	{CountingDepartures, "Seen", Watching, "not all have departed"},
	{CountingDepartures, "Seen", Deleting, "all have departed"},
	{CountingDepartures, "Seen", Removing, "not all have departed, and the instance closes"},
	{CountingDepartures, "Seen", Next, "the round is over"},
	{Watching, "Seen", Leaving, "its neighbour exists"},
	{Watching, "Seen", Departing, "its neighbour is gone: its departure is recorded"},
	{Watching, "Closing", Removing, "the instance closes"},
	{Leaving, "Deleted", Departing, "its neighbour has died: its departure is recorded"},
	{Leaving, "Changed", Next, "the round is over"},
	{Leaving, "Closing", Removing, "the instance closes"},
	{Deleting, "Transacted", Next, "the round is over"},
	{Deleting, "Listed", Next, "another party has deleted it"},
}
