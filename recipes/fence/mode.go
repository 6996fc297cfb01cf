package fence

// Mode tells whether a possession is exclusive.
type Mode string

// The modes.
const (
	Exclusive Mode = "exclusive" // one holder at a time: locks, the write side of shared locks, leaders
	Shared    Mode = "shared"    // several holders: the read side of shared locks, semaphores. Tokens do not order the holders
)

func (m Mode) known() bool { return m == Exclusive || m == Shared }
