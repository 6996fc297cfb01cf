package member

import "slices"

// Transition is a declared change of state. An event that is not declared for a state leaves the
// state as it is.
type Transition struct {
	From State
	On   string // the event's type; of a watch's event, Fired
	To   State
	Why  string
}

// Transitions lists every change of state that the machine may make. The end of an epoch leads to
// Out from everywhere, and to Over if it is leaving.
func Transitions() []Transition { return slices.Clone(table) }

var table = []Transition{
	{Out, "EpochBegan", Joining, "it registers, in every epoch"},
	{Out, "Closing", Over, "nothing stands"},
	{Joining, "Transacted", Looking, "it was made, or there is one of that name"},
	{Joining, "Transacted", Over, "it is refused"},
	{Joining, "Ensured", Over, "the group may not be made, or it is leaving"},
	{Looking, "Seen", Present, "its own, with the latest data"},
	{Looking, "Seen", Updating, "its own, with others"},
	{Looking, "Seen", Joining, "it is gone"},
	{Looking, "Seen", Asking, "somebody else's, or of a session that is about to end"},
	{Looking, "Seen", Barred, "its owner was asked, and has not answered"},
	{Looking, "Seen", Leaving, "its own, and it is leaving"},
	{Looking, "Seen", Over, "another member lives under the id, or one that may not be asked; or it may not be read; or it is leaving, and nothing of its own stands"},
	{Present, "Updated", Updating, "other data are wanted"},
	{Present, "Fired", Looking, "it is gone, or was written to"},
	{Present, "Closing", Leaving, "it is leaving"},
	{Updating, "Transacted", Present, "the data stand"},
	{Updating, "Transacted", Looking, "something happened to it meanwhile, or the outcome is not known"},
	{Updating, "Transacted", Joining, "it is gone"},
	{Updating, "Transacted", Leaving, "the data stand, and it is leaving"},
	{Updating, "Transacted", Over, "it is refused, or gone, and it is leaving"},
	{Barred, "Fired", Looking, "it is gone, or was written to"},
	{Asking, "Transacted", Looking, "it is asked, or it is not known, or may not be"},
	{Barred, "Closing", Over, "nothing of its own stands"},
	{Leaving, "Removed", Over, "it is gone"},
}
