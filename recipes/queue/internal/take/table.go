package take

import "slices"

// Transition is a declared change of phase. An event that is not declared for a phase leaves the
// phase as it is. Phases that differ only in what is wanted stand together as [Resting].
type Transition struct {
	From string // "" stands for every phase
	On   string // the event's name
	To   string
	Why  string
}

// Resting stands for Idle, Waiting and Holding: nothing is being taken, and whether more is wanted,
// or something held, tells which.
const Resting = "Resting"

// Transitions lists every change of phase that the machine may make.
func Transitions() []Transition { return slices.Clone(table) }

var table = []Transition{
	{"", "EpochEnded", "Out", "claims are gone with it; what is known is forgotten"},
	{"", "Closing", "Stopped", "nothing is left to settle"},
	{"", "Settle", "Stopped", "it was to end, and the last item with AutoAck has found its receiver"},
	{"", "EpochEnded", "Stopped", "it was to end, and what it had is gone with the epoch"},
	{"", "EpochBegan", "Stopped", "the same, and nothing is left to look for"},
	{"", "Listed", "Stopped", "ZooKeeper refuses a look"},
	{"", "Seen", "Stopped", "ZooKeeper refuses a look"},
	{"", "Ensured", "Stopped", "ZooKeeper refuses to make what is missing"},
	{"", "Transacted", "Stopped", "ZooKeeper refuses the claims; or all is settled, and it was to end"},
	{"", "Woke", "Stopped", "there was nothing to do for a while"},

	{"Out", "EpochBegan", Resting, "the queue is listed, if something is wanted"},
	{"Out", "EpochBegan", "Claiming", "the answer to a taking was lost with the epoch before"},

	{Resting, "Demand", Resting, "more is wanted, or less"},
	{Resting, "Demand", "Reading", "what is wanted is there"},
	{Resting, "Demand", "Claiming", "what is wanted is there, and read"},
	{Resting, "Settle", Resting, "with AutoAck: it has found its receiver"},
	{Resting, "Fired", Resting, "a claim was deleted by somebody"},
	{Resting, "Seen", Resting, "the settlement whose answer was lost is known; a claim was deleted by somebody"},
	{Resting, "Transacted", Resting, "items are settled"},
	{Resting, "Transacted", "Reading", "items are settled, and more is there"},
	{Resting, "Transacted", "Claiming", "the same, and it is read"},
	{Resting, "Listed", Resting, "what became of packs whose settlement's answer was lost is known"},
	{Resting, "Listed", "Reading", "something is free"},
	{Resting, "Listed", "Claiming", "something is free, and read"},
	{Resting, "Woke", "Reading", "a pause is over, and something is free"},
	{Resting, "Woke", "Claiming", "the same, and it is read"},

	{"Reading", "Seen", "Claiming", "all that was picked is read"},
	{"Reading", "Seen", Resting, "what was picked is gone"},
	{"Reading", "Listed", "Claiming", "what was picked is still free"},
	{"Reading", "Listed", Resting, "what was picked is not free any more, or has had all its attempts"},
	{"Reading", "Ensured", "Claiming", "with AutoAck: the receipt is made"},
	{"Reading", "Transacted", "Claiming", "with AutoAck: what nobody had received is back"},

	{"Claiming", "Transacted", Resting, "it is claimed, or somebody was quicker"},
	{"Claiming", "Transacted", "Reading", "the same, and more is there"},
	{"Claiming", "Seen", Resting, "the answer was lost, and what became of it is known"},
	{"Claiming", "Seen", "Reading", "the same, and more is there"},
}
