package host

import (
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/session"
)

// message is what the host actor receives. The set is closed.
type message interface{ message() }

type (
	noticed struct { // by the session
		number uint64 // of the notices so far
		notice session.Event
	}
	wanted          struct{ claim machine.Claim }    // by the face: see the ledger
	withdrawn       struct{ claim machine.Claim }    // by the face: see the ledger
	released        struct{ possession *Possession } // by the face: its hold has ended
	lost            struct{ possession *Possession } // its hold ended by itself
	downgradeWanted struct{ possession *Possession } // by the face: its hold has ended, for a reader's
	closing         struct{}                         // by the face: all is withdrawn; end when it is settled
	answered        struct {                         // by the session
		incarnation int
		event       machine.Event
	}
	prepared struct { // the parent is there
		incarnation int
		enter       machine.Enter
	}
	undone struct { // a downgrade was not carried out, its answer was lost
		incarnation int
		downgrade   machine.Downgraded
		data        []byte
	}
	stayed struct { // the own znode and the record were not deleted, as far as is known
		incarnation int
		release     machine.Release
		err         error
	}
	recovered struct { // what the incarnation before left in ZooKeeper
		incarnation int
		epoch       uint64
		standing    []string
		leaving     []string
	}
	swept struct { // what was to be deleted of it is gone
		incarnation int
		epoch       uint64
		unspent     string
	}
	poked struct{ do func() } // by tests
)

func (noticed) message()         {}
func (wanted) message()          {}
func (withdrawn) message()       {}
func (released) message()        {}
func (lost) message()            {}
func (downgradeWanted) message() {}
func (closing) message()         {}
func (answered) message()        {}
func (prepared) message()        {}
func (undone) message()          {}
func (stayed) message()          {}
func (recovered) message()       {}
func (swept) message()           {}
func (poked) message()           {}
