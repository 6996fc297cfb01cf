package contend

// Part is a part of a machine that has states: one of the two strategies, or a delay beside it.
type Part int

// The parts.
const (
	Contenders Part = 1 << iota
	Single
	Delay

	both = Contenders | Single
)

// Transition is a declared change of state. An event that is not declared for a state leaves the
// state as it is.
type Transition struct {
	of   Part
	From State
	On   string // the event's name: of its type, but Deleted, Changed and Children of what a watch tells; "": any
	To   State
	Why  string
}

// Transitions lists every change of state that the part may make.
func Transitions(of Part) []Transition {
	var list []Transition
	for _, t := range table {
		if t.of&of != 0 {
			list = append(list, t)
		}
	}
	return list
}

var table = []Transition{
	{both, Out, "EpochBegan", Idle, "nothing is wanted"},
	{both, Out, "EpochBegan", Entering, "the first claim enters"},

	{both, Idle, "Wanted", Entering, "the claim enters"},
	{Contenders, Idle, "Recovered", Listing, "a znode is taken over"},
	{both, Idle, "Recovered", Leaving, "a possession came of it before the crash: it must go"},
	{both, Idle, "EpochEnded", Out, "nothing stood"},
	{Single, Idle, "Recovered", Checking, "a znode is taken over"},

	{Contenders, Entering, "Entered", Listing, "the listing is still under way, or was asked too early and is asked again"},
	{Contenders, Entering, "Entered", Checking, "the listing was answered before; its order is known"},
	{Single, Entering, "Entered", Checking, "the answer of the create was lost, or an old server does not tell whose it is"},
	{Contenders, Entering, "Entered", Ordering, "the listing was answered before; its order is doubtful"},
	{Contenders, Entering, "Entered", Holding, "the listing was answered before: nobody is ahead, and the create told whose the own znode is"},
	{Single, Entering, "Entered", Holding, "created, and the answer says by whom"},
	{Contenders, Entering, "Entered", Ready, "the same, but the session is not trusted"},
	{Single, Entering, "Entered", Ready, "the same, but the session is not trusted"},
	{Contenders, Entering, "Entered", Marking, "the same of a semaphore, and it fits under the limit"},
	{Contenders, Entering, "Entered", Leaving, "withdrawn meanwhile, or failed with an old znode left to delete"},
	{Single, Entering, "Entered", Leaving, "withdrawn meanwhile"},
	{Contenders, Entering, "Entered", Idle, "failed: every claim is settled"},
	{Single, Entering, "Entered", Idle, "failed, or somebody's znode is there and nobody waits for that"},
	{both, Entering, "EpochEnded", Out, "the claims stand again in the next epoch"},
	{both, Entering, "EpochBegan", Idle, "the last epoch is over; the claim was withdrawn"},
	{Single, Entering, "Entered", Reading, "somebody's znode is there"},

	{Single, Reading, "Seen", Watching, "it stands, and is watched"},
	{Single, Reading, "Seen", Entering, "it is gone"},
	{Single, Reading, "Seen", Idle, "it cannot be read, so nobody would tell when it goes"},
	{Single, Reading, "Withdrawn", Idle, "nobody waits any more"},
	{Single, Reading, "EpochEnded", Out, "the claims try again in the next epoch"},
	{Single, Reading, "EpochBegan", Entering, "the last epoch is over"},

	{Single, Watching, "Deleted", Entering, "it is gone: all who wait try"},
	{Single, Watching, "Changed", Reading, "the watch is spent"},
	{Single, Watching, "Withdrawn", Idle, "nobody waits any more"},
	{Single, Watching, "EpochEnded", Out, "the claims try again in the next epoch"},
	{Single, Watching, "EpochBegan", Entering, "the last epoch is over"},

	{Contenders, Listing, "Listed", Checking, "the order is known; the own znode or the predecessor has to be read, or the listing failed"},
	{Contenders, Listing, "Listed", Ordering, "sequence numbers do not tell the order"},
	{Contenders, Listing, "Listed", Holding, "nobody is ahead, and the create told whose the own znode is, or it is watched already"},
	{Contenders, Listing, "Listed", Ready, "the same, but the session is not trusted"},
	{Contenders, Listing, "Listed", Entering, "the own znode is gone: it stands anew"},
	{Contenders, Listing, "Listed", Idle, "a recovered znode is gone, and nobody wants it"},
	{Contenders, Listing, "Listed", Leaving, "a try is refused, nobody wants a recovered znode, or the own name is strange"},
	{Contenders, Listing, "Listed", Marking, "it fits under the limit"},
	{Contenders, Listing, "Listed", Waiting, "it does not fit yet, and all that the head of the waiters watches is watched"},
	{Contenders, Listing, "Seen", Entering, "the own znode is gone or somebody else's"},
	{Contenders, Listing, "Seen", Idle, "so is a recovered one that nobody wants"},
	{Contenders, Listing, "Seen", Leaving, "the own znode cannot be read"},
	{Contenders, Listing, "Deleted", Entering, "the own znode is gone"},
	{Contenders, Listing, "Deleted", Idle, "a recovered znode is gone, and nobody wants it"},
	{Contenders, Listing, "Withdrawn", Leaving, "nobody takes the znode over"},
	{Contenders, Listing, "EpochEnded", Out, "the znode is gone with the epoch"},
	{Contenders, Listing, "EpochBegan", Entering, "the last epoch is over"},
	{Contenders, Listing, "EpochBegan", Idle, "the last epoch is over, and nobody wanted the recovered znode"},

	{Contenders, Ordering, "Seen", Checking, "the order is known; the predecessor has to be read"},
	{Contenders, Ordering, "Seen", Holding, "nobody is ahead"},
	{Contenders, Ordering, "Seen", Ready, "nobody is ahead, but the session is not trusted"},
	{Contenders, Ordering, "Seen", Listing, "whoever was ahead went meanwhile"},
	{Contenders, Ordering, "Seen", Entering, "the own znode is gone or somebody else's"},
	{Contenders, Ordering, "Seen", Leaving, "a try is refused, or a contender cannot be read"},
	{Contenders, Ordering, "Seen", Marking, "it fits under the limit"},
	{Contenders, Ordering, "Seen", Waiting, "it does not fit yet, and all that the head of the waiters watches is watched"},
	{Contenders, Ordering, "Deleted", Entering, "the own znode is gone"},
	{Contenders, Ordering, "Withdrawn", Leaving, "nobody takes the znode over"},
	{Contenders, Ordering, "EpochEnded", Out, "the znode is gone with the epoch"},
	{Contenders, Ordering, "EpochBegan", Entering, "the last epoch is over"},

	{Contenders, Checking, "Seen", Waiting, "the own znode and the predecessor are watched"},
	{Contenders, Checking, "Seen", Holding, "nobody is ahead, and the own znode is watched"},
	{Single, Checking, "Seen", Holding, "it is ours"},
	{both, Checking, "Seen", Ready, "the same, but the session is not trusted"},
	{Contenders, Checking, "Seen", Listing, "the predecessor is gone"},
	{both, Checking, "Seen", Entering, "the own znode is gone or somebody else's"},
	{Contenders, Checking, "Seen", Leaving, "one of the two cannot be read, or the contenders could not be listed"},
	{Single, Checking, "Seen", Leaving, "it cannot be read, or nobody wants it"},
	{Contenders, Checking, "Seen", Marking, "it fits under the limit"},
	{Contenders, Checking, "Transacted", Leaving, "nobody has set the limit, and it cannot be set"},
	{Contenders, Checking, "Children", Listing, "somebody came or went"},
	{Contenders, Checking, "Deleted", Listing, "the predecessor is gone before the own znode is known to stand"},
	{Contenders, Checking, "Deleted", Entering, "the own znode is gone"},
	{both, Checking, "Withdrawn", Leaving, "nobody takes the znode over"},
	{both, Checking, "EpochEnded", Out, "the znode is gone with the epoch"},
	{both, Checking, "EpochBegan", Entering, "the last epoch is over"},
	{Single, Checking, "Seen", Idle, "the same of a recovered one that nobody wants"},
	{Single, Checking, "EpochBegan", Idle, "the same, and nobody wanted the recovered one"},

	{Contenders, Waiting, "Deleted", Holding, "the predecessor is gone, and he alone was ahead"},
	{Contenders, Waiting, "Deleted", Ready, "the same, but the session is not trusted"},
	{Contenders, Waiting, "Deleted", Listing, "the predecessor is gone; others may be ahead"},
	{Contenders, Waiting, "Deleted", Entering, "the own znode is gone"},
	{Contenders, Waiting, "Changed", Checking, "a watch fired and has to be armed again"},
	{Contenders, Waiting, "Children", Listing, "somebody came or went: that may be enough"},
	{Contenders, Waiting, "Withdrawn", Leaving, "nobody takes the znode over"},
	{Contenders, Waiting, "EpochEnded", Out, "the znode is gone with the epoch"},
	{Contenders, Waiting, "EpochBegan", Entering, "the last epoch is over"},

	{Contenders, Marking, "Transacted", Holding, "the own znode says that it is granted"},
	{Contenders, Marking, "Transacted", Ready, "the same, but the session is not trusted"},
	{Contenders, Marking, "Transacted", Checking, "the limit or the own znode's data are others meanwhile, or the outcome is not known"},
	{Contenders, Marking, "Transacted", Leaving, "the own znode cannot be written"},
	{Contenders, Marking, "Seen", Entering, "the own znode is gone or somebody else's"},
	{Contenders, Marking, "Seen", Leaving, "the own znode cannot be read"},
	{Contenders, Marking, "Deleted", Entering, "the own znode is gone"},
	{Contenders, Marking, "Withdrawn", Leaving, "nobody takes the znode over"},
	{Contenders, Marking, "EpochEnded", Out, "the znode is gone with the epoch"},
	{Contenders, Marking, "EpochBegan", Entering, "the last epoch is over"},

	{Contenders, Ready, "TrustGained", Holding, "first all the time"},
	{Contenders, Ready, "Resumed", Holding, "the host's refusal was about the connection"},
	{Contenders, Ready, "TrustGained", Listing, "the connection was down meanwhile: the own znode's end may be among the events that come now"},
	{Contenders, Ready, "Resumed", Listing, "the same"},
	{Contenders, Ready, "Changed", Checking, "the own znode has to be watched again before a grant"},
	{Contenders, Ready, "Seen", Checking, "the same: it changed while it was read for the first time"},
	{both, Ready, "Seen", Entering, "the own znode is gone when it is read for the first time"},
	{both, Ready, "Seen", Leaving, "the own znode cannot be read"},
	{Contenders, Ready, "Transacted", Leaving, "somebody wrote over the mark, and it cannot be written again"},
	{Contenders, Ready, "Deleted", Entering, "the own znode is gone"},
	{both, Ready, "Withdrawn", Leaving, "nobody takes the znode over"},
	{both, Ready, "EpochEnded", Out, "the znode is gone with the epoch"},
	{both, Ready, "EpochBegan", Entering, "the last epoch is over"},
	{Single, Ready, "TrustGained", Checking, "its end may be among the events that come now"},
	{Single, Ready, "Resumed", Checking, "the same"},

	{both, Holding, "Deferred", Ready, "no possession came of the grant; the znode is kept"},
	{Contenders, Holding, "Deferred", Checking, "the same, and the own znode is being read again"},
	{Contenders, Holding, "HoldEnded", Entering, "the next claim's znode replaces this one"},
	{Contenders, Holding, "HoldEnded", Leaving, "nobody wants another"},
	{Single, Holding, "HoldEnded", Leaving, "nothing may come of its znode again"},
	{both, Holding, "Released", Leaving, "the possession was given up"},
	{both, Holding, "Withdrawn", Leaving, "the possession was given up, and the claim with it"},
	{Contenders, Holding, "Deleted", Entering, "somebody deleted the own znode: the next claim enters"},
	{Contenders, Holding, "Deleted", Idle, "somebody deleted the own znode, and nobody wants another"},
	{both, Holding, "Seen", Entering, "the own znode is gone when it is read"},
	{both, Holding, "Seen", Idle, "the same, and nobody wants another"},
	{Contenders, Holding, "Seen", Leaving, "the own znode cannot be read, and could not from the start: it cannot be watched"},
	{Single, Holding, "Seen", Leaving, "the own znode cannot be read"},
	{both, Holding, "EpochEnded", Out, "the possession is over with the epoch"},
	{both, Holding, "EpochBegan", Entering, "the possession is over with the last epoch"},
	{both, Holding, "EpochBegan", Idle, "the same, and nobody wants another"},
	{Contenders, Holding, "DowngradeWanted", Downgrading, "a reader's znode takes the writer's place"},

	{Contenders, Downgrading, "Downgraded", Holding, "the holder goes on as a reader"},
	{Contenders, Downgrading, "Downgraded", Leaving, "it was withdrawn meanwhile, or could not be done"},
	{Contenders, Downgrading, "Downgraded", Entering, "somebody deleted the writer's znode: the next claim enters"},
	{Contenders, Downgrading, "Downgraded", Idle, "somebody deleted the writer's znode, and nobody wants another"},
	{Contenders, Downgrading, "EpochEnded", Out, "the possession is over with the epoch"},
	{Contenders, Downgrading, "EpochBegan", Entering, "the possession is over with the last epoch"},
	{Contenders, Downgrading, "EpochBegan", Idle, "the same, and nobody wants another"},

	{both, Leaving, "Removed", Entering, "the next claim enters"},
	{both, Leaving, "Removed", Idle, "nothing is wanted"},
	{both, Leaving, "EpochEnded", Out, "the znode is gone with the epoch, or about to be"},
	{both, Leaving, "EpochBegan", Entering, "the last epoch is over, and the znode with it"},
	{both, Leaving, "EpochBegan", Idle, "the same, and nothing is wanted"},

	{Delay, Open, "", Recording, "it is its turn"},
	{Delay, Recording, "", Delaying, "another's token is there: it has died"},
	{Delay, Recording, "", Recorded, "written"},
	{Delay, Delaying, "", Recording, "the delay is over: the other's token is replaced"},
	{Delay, Recording, "", Open, "the own znode is lost, given up, or of an epoch that is over"},
	{Delay, Delaying, "", Open, "the same, or a try is refused"},
	{Delay, Recorded, "", Open, "the possession is over, or the own znode is lost before there was one"},
}
