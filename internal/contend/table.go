package contend

import "slices"

// Transition is a declared change of state. An event that is not declared for a state leaves the
// state as it is.
type Transition struct {
	From State
	On   string // the event's name: of its type, but Deleted, Changed and Crowd of what a watch tells
	To   State
	Why  string
}

// Transitions lists every change of state that the machine may make.
func Transitions() []Transition { return slices.Clone(table) }

var table = []Transition{
	{Out, "EpochBegan", Idle, "nothing is wanted"},
	{Out, "EpochBegan", Joining, "the first claim stands in line"},

	{Idle, "Wanted", Joining, "the claim stands in line"},
	{Idle, "Recovered", Listing, "a place is taken over"},
	{Idle, "Recovered", Leaving, "a possession came of it before the crash: it must go"},
	{Idle, "EpochEnded", Out, "nothing stood"},

	{Joining, "Joined", Listing, "the listing is still under way, or was asked too early and is asked again"},
	{Joining, "Joined", Checking, "the listing was answered before; its order is known"},
	{Joining, "Joined", Ordering, "the listing was answered before; its order is doubtful"},
	{Joining, "Joined", Holding, "the listing was answered before: nobody is ahead, and the create told whose the own znode is"},
	{Joining, "Joined", Ready, "the same, but the session is not trusted"},
	{Joining, "Joined", Marking, "the same of a semaphore, and it fits under the limit"},
	{Joining, "Joined", Leaving, "withdrawn meanwhile, or failed with an old znode left to delete"},
	{Joining, "Joined", Idle, "failed: every claim is settled"},
	{Joining, "EpochEnded", Out, "the claims stand again in the next epoch"},
	{Joining, "EpochBegan", Idle, "the last epoch is over; the claim was withdrawn"},

	{Listing, "Listed", Checking, "the order is known; the own znode or the predecessor has to be read, or the listing failed"},
	{Listing, "Listed", Ordering, "sequence numbers do not tell the order"},
	{Listing, "Listed", Holding, "nobody is ahead, and the create told whose the own znode is, or it is watched already"},
	{Listing, "Listed", Ready, "the same, but the session is not trusted"},
	{Listing, "Listed", Joining, "the own znode is gone: it stands anew"},
	{Listing, "Listed", Idle, "a recovered znode is gone, and nobody wants it"},
	{Listing, "Listed", Leaving, "a try is refused, nobody wants a recovered place, or the own name is strange"},
	{Listing, "Listed", Marking, "it fits under the limit"},
	{Listing, "Listed", Waiting, "it does not fit yet, and all that the head of the waiters watches is watched"},
	{Listing, "Seen", Joining, "the own znode is gone or somebody else's"},
	{Listing, "Seen", Idle, "so is a recovered one that nobody wants"},
	{Listing, "Seen", Leaving, "the own znode cannot be read"},
	{Listing, "Deleted", Joining, "the own znode is gone"},
	{Listing, "Deleted", Idle, "a recovered znode is gone, and nobody wants it"},
	{Listing, "Withdrawn", Leaving, "nobody takes the place over"},
	{Listing, "EpochEnded", Out, "the place is lost with the epoch"},
	{Listing, "EpochBegan", Joining, "the last epoch is over"},
	{Listing, "EpochBegan", Idle, "the last epoch is over, and nobody wanted the recovered place"},

	{Ordering, "Seen", Checking, "the order is known; the predecessor has to be read"},
	{Ordering, "Seen", Holding, "nobody is ahead"},
	{Ordering, "Seen", Ready, "nobody is ahead, but the session is not trusted"},
	{Ordering, "Seen", Listing, "whoever was ahead went meanwhile"},
	{Ordering, "Seen", Joining, "the own znode is gone or somebody else's"},
	{Ordering, "Seen", Leaving, "a try is refused, or a contender cannot be read"},
	{Ordering, "Seen", Marking, "it fits under the limit"},
	{Ordering, "Seen", Waiting, "it does not fit yet, and all that the head of the waiters watches is watched"},
	{Ordering, "Deleted", Joining, "the own znode is gone"},
	{Ordering, "Withdrawn", Leaving, "nobody takes the place over"},
	{Ordering, "EpochEnded", Out, "the place is lost with the epoch"},
	{Ordering, "EpochBegan", Joining, "the last epoch is over"},

	{Checking, "Seen", Waiting, "the own znode and the predecessor are watched"},
	{Checking, "Seen", Holding, "nobody is ahead, and the own znode is watched"},
	{Checking, "Seen", Ready, "the same, but the session is not trusted"},
	{Checking, "Seen", Listing, "the predecessor is gone"},
	{Checking, "Seen", Joining, "the own znode is gone or somebody else's"},
	{Checking, "Seen", Leaving, "one of the two cannot be read, or the line could not be listed"},
	{Checking, "Seen", Marking, "it fits under the limit"},
	{Checking, "Written", Leaving, "nobody has set the limit, and it cannot be set"},
	{Checking, "Crowd", Listing, "somebody came or went"},
	{Checking, "Deleted", Listing, "the predecessor is gone before the own znode is known to stand"},
	{Checking, "Deleted", Joining, "the own znode is gone"},
	{Checking, "Withdrawn", Leaving, "nobody takes the place over"},
	{Checking, "EpochEnded", Out, "the place is lost with the epoch"},
	{Checking, "EpochBegan", Joining, "the last epoch is over"},

	{Waiting, "Deleted", Holding, "the predecessor is gone, and he alone was ahead"},
	{Waiting, "Deleted", Ready, "the same, but the session is not trusted"},
	{Waiting, "Deleted", Listing, "the predecessor is gone; others may be ahead"},
	{Waiting, "Deleted", Joining, "the own znode is gone"},
	{Waiting, "Changed", Checking, "a watch fired and has to be armed again"},
	{Waiting, "Crowd", Listing, "somebody came or went: that may be enough"},
	{Waiting, "Withdrawn", Leaving, "nobody takes the place over"},
	{Waiting, "EpochEnded", Out, "the place is lost with the epoch"},
	{Waiting, "EpochBegan", Joining, "the last epoch is over"},

	{Marking, "Written", Holding, "the own znode says that it is granted"},
	{Marking, "Written", Ready, "the same, but the session is not trusted"},
	{Marking, "Written", Checking, "the limit or the own znode's data are others meanwhile, or the outcome is not known"},
	{Marking, "Written", Leaving, "the own znode cannot be written"},
	{Marking, "Seen", Joining, "the own znode is gone or somebody else's"},
	{Marking, "Seen", Leaving, "the own znode cannot be read"},
	{Marking, "Deleted", Joining, "the own znode is gone"},
	{Marking, "Withdrawn", Leaving, "nobody takes the place over"},
	{Marking, "EpochEnded", Out, "the place is lost with the epoch"},
	{Marking, "EpochBegan", Joining, "the last epoch is over"},

	{Ready, "TrustGained", Holding, "first all the time"},
	{Ready, "Resumed", Holding, "the host's refusal was about the connection"},
	{Ready, "TrustGained", Listing, "the connection was down meanwhile: the own znode's end may be among the events that come now"},
	{Ready, "Resumed", Listing, "the same"},
	{Ready, "Changed", Checking, "the own znode has to be watched again before a grant"},
	{Ready, "Seen", Checking, "the same: it changed while it was read for the first time"},
	{Ready, "Seen", Joining, "the own znode is gone when it is read for the first time"},
	{Ready, "Seen", Leaving, "the own znode cannot be read"},
	{Ready, "Written", Leaving, "somebody wrote over the mark, and it cannot be written again"},
	{Ready, "Deleted", Joining, "the own znode is gone"},
	{Ready, "Withdrawn", Leaving, "nobody takes the place over"},
	{Ready, "EpochEnded", Out, "the place is lost with the epoch"},
	{Ready, "EpochBegan", Joining, "the last epoch is over"},

	{Holding, "Deferred", Ready, "no possession came of the grant; the place is kept"},
	{Holding, "Deferred", Checking, "the same, and the own znode is being read again"},
	{Holding, "HoldEnded", Joining, "the next claim's znode replaces this one"},
	{Holding, "HoldEnded", Leaving, "nobody wants another"},
	{Holding, "Released", Leaving, "the possession was given up"},
	{Holding, "Withdrawn", Leaving, "the possession was given up, and the claim with it"},
	{Holding, "Deleted", Joining, "somebody deleted the own znode: the next claim stands in line"},
	{Holding, "Deleted", Idle, "somebody deleted the own znode, and nobody wants another"},
	{Holding, "Seen", Joining, "the own znode is gone when it is read"},
	{Holding, "Seen", Idle, "the same, and nobody wants another"},
	{Holding, "Seen", Leaving, "the own znode cannot be read, and could not from the start: it cannot be watched"},
	{Holding, "EpochEnded", Out, "the possession is over with the epoch"},
	{Holding, "EpochBegan", Joining, "the possession is over with the last epoch"},
	{Holding, "EpochBegan", Idle, "the same, and nobody wants another"},

	{Holding, "Downgraded", Exchanging, "a reader's znode takes the writer's place"},

	{Exchanging, "Exchanged", Holding, "the holder goes on as a reader"},
	{Exchanging, "Exchanged", Leaving, "it was withdrawn meanwhile, or could not be done"},
	{Exchanging, "Exchanged", Joining, "somebody deleted the writer's znode: the next claim stands in line"},
	{Exchanging, "Exchanged", Idle, "somebody deleted the writer's znode, and nobody wants another"},
	{Exchanging, "EpochEnded", Out, "the possession is over with the epoch"},
	{Exchanging, "EpochBegan", Joining, "the possession is over with the last epoch"},
	{Exchanging, "EpochBegan", Idle, "the same, and nobody wants another"},

	{Leaving, "Left", Joining, "the next claim stands in line"},
	{Leaving, "Left", Idle, "nothing is wanted"},
	{Leaving, "EpochEnded", Out, "the znode is gone with the epoch, or about to be"},
	{Leaving, "EpochBegan", Joining, "the last epoch is over, and the znode with it"},
	{Leaving, "EpochBegan", Idle, "the same, and nothing is wanted"},
}
