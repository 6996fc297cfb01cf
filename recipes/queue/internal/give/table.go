package give

import "slices"

// Transition is a declared change of phase. An event that is not declared for a phase leaves the
// phase as it is.
type Transition struct {
	From string // "" stands for every phase
	On   string // the event's name
	To   string
	Why  string
}

// Transitions lists every change of phase that the machine may make.
func Transitions() []Transition { return slices.Clone(table) }

var table = []Transition{
	{"", "EpochEnded", "Out", "what was under way may have been carried out: the receipt will tell"},
	{"", "Closing", "Stopped", "nothing is wished"},

	{"Out", "EpochBegan", "Idle", "nothing is wished"},
	{"Out", "EpochBegan", "Looking", "the queue is listed, or what is missing is read or made"},
	{"Out", "Withdraw", "Stopped", "the last wish is withdrawn, and it was to end"},

	{"Idle", "Put", "Looking", "the queue is listed, or what is missing is read or made"},
	{"Idle", "Put", "Putting", "all is known"},
	{"Idle", "Move", "Looking", "the queue is listed"},
	{"Idle", "Move", "Putting", "all is known"},
	{"Looking", "Woke", "Stopped", "there was nothing to do for a while"},

	{"Looking", "Listed", "Putting", "all is known"},
	{"Looking", "Listed", "Idle", "ZooKeeper refuses the queue, and every wish was answered with that"},
	{"Looking", "Seen", "Putting", "all is known"},
	{"Looking", "Seen", "Idle", "the receipt says that all was carried out, or ZooKeeper refuses a look"},
	{"Looking", "Ensured", "Putting", "all is known"},
	{"Looking", "Ensured", "Idle", "ZooKeeper refuses to make what is missing"},
	{"Looking", "Transacted", "Putting", "the clock was read, or the queue given its room"},
	{"Looking", "Transacted", "Idle", "the queue is full"},
	{"Looking", "Put", "Putting", "the timer that was to end it is taken back"},
	{"Looking", "Move", "Putting", "the same"},

	{"Putting", "Transacted", "Idle", "all is put, or refused"},
	{"Putting", "Transacted", "Looking", "a belief was wrong, or the answer is lost: look"},
	{"Putting", "Transacted", "Stopped", "all is put, and it was to end"},
}
