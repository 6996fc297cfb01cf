package fence

// Mode says how a thing is held.
type Mode string

// The modes.
const (
	Exclusive Mode = "exclusive" // by one at a time: locks, the write side of shared locks, leaders
	Shared    Mode = "shared"    // with others: the read side of shared locks, semaphores. Its tokens do not order the holders
)

func (m Mode) known() bool { return m == Exclusive || m == Shared }
