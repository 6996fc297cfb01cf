package solo

import "slices"

// Transition is a declared change of state. An event that is not declared for a state leaves the
// state as it is.
type Transition struct {
	From State
	On   string // the event's name: its type's, but Deleted and Changed for Fired
	To   State
	Why  string
}

// Transitions lists every change of state that the machine may make.
func Transitions() []Transition { return slices.Clone(table) }

var table = []Transition{
	{Out, "EpochBegan", Idle, "nothing is wanted"},
	{Out, "EpochBegan", Creating, "the first claim tries"},

	{Idle, "Wanted", Creating, "the claim tries"},
	{Idle, "Recovered", Verifying, "a znode is taken over"},
	{Idle, "Recovered", Leaving, "a possession came of it before the crash: it must go"},
	{Idle, "EpochEnded", Out, "nothing stood"},

	{Creating, "Joined", Holding, "created, and the answer says by whom and when"},
	{Creating, "Joined", Ready, "the same, but the session is not trusted"},
	{Creating, "Joined", Verifying, "created, and the answer was lost"},
	{Creating, "Joined", Looking, "somebody's znode is there"},
	{Creating, "Joined", Leaving, "withdrawn meanwhile"},
	{Creating, "Joined", Idle, "a try is refused, it failed, or it was withdrawn meanwhile and somebody else's is there"},
	{Creating, "EpochEnded", Out, "the claims try again in the next epoch"},
	{Creating, "EpochBegan", Idle, "the last epoch is over; the claim was withdrawn"},

	{Looking, "Seen", Waiting, "it stands, and is watched"},
	{Looking, "Seen", Creating, "it is gone"},
	{Looking, "Seen", Idle, "it cannot be read, so nobody would tell when it goes"},
	{Looking, "Withdrawn", Idle, "nobody waits any more"},
	{Looking, "EpochEnded", Out, "the claims try again in the next epoch"},
	{Looking, "EpochBegan", Creating, "the last epoch is over"},

	{Waiting, "Deleted", Creating, "it is gone: all who wait try"},
	{Waiting, "Changed", Looking, "the watch is spent"},
	{Waiting, "Withdrawn", Idle, "nobody waits any more"},
	{Waiting, "EpochEnded", Out, "the claims try again in the next epoch"},
	{Waiting, "EpochBegan", Creating, "the last epoch is over"},

	{Verifying, "Seen", Holding, "it is ours"},
	{Verifying, "Seen", Ready, "it is ours, but the session is not trusted"},
	{Verifying, "Seen", Creating, "it is gone, or somebody else's"},
	{Verifying, "Seen", Idle, "the same of a recovered one that nobody wants"},
	{Verifying, "Seen", Leaving, "it cannot be read, or nobody wants it"},
	{Verifying, "Withdrawn", Leaving, "nobody takes it over"},
	{Verifying, "EpochEnded", Out, "it is gone with the epoch"},
	{Verifying, "EpochBegan", Creating, "the last epoch is over"},
	{Verifying, "EpochBegan", Idle, "the same, and nobody wanted the recovered one"},

	{Ready, "TrustGained", Verifying, "its end may be among the events that come now"},
	{Ready, "Resumed", Verifying, "the same"},
	{Ready, "Seen", Creating, "it is gone, or somebody else's"},
	{Ready, "Seen", Leaving, "it cannot be read"},
	{Ready, "Withdrawn", Leaving, "nobody takes it over"},
	{Ready, "EpochEnded", Out, "it is gone with the epoch"},
	{Ready, "EpochBegan", Creating, "the last epoch is over"},

	{Holding, "Deferred", Ready, "no possession came of the grant; the znode is kept"},
	{Holding, "HoldEnded", Leaving, "the possession is over: nothing may come of its znode again"},
	{Holding, "Released", Leaving, "the possession was given up"},
	{Holding, "Withdrawn", Leaving, "the possession was given up, and the claim with it"},
	{Holding, "Seen", Creating, "the own znode is gone: the next claim tries"},
	{Holding, "Seen", Idle, "the same, and nobody wants it"},
	{Holding, "Seen", Leaving, "the own znode cannot be read"},
	{Holding, "EpochEnded", Out, "the possession is over with the epoch"},
	{Holding, "EpochBegan", Creating, "the possession is over with the last epoch"},
	{Holding, "EpochBegan", Idle, "the same, and nobody wants it"},

	{Leaving, "Left", Creating, "the next claim tries"},
	{Leaving, "Left", Idle, "nothing is wanted"},
	{Leaving, "EpochEnded", Out, "the znode is gone with the epoch, or about to be"},
	{Leaving, "EpochBegan", Creating, "the last epoch is over, and the znode with it"},
	{Leaving, "EpochBegan", Idle, "the same, and nothing is wanted"},
}
