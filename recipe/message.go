package recipe

import (
	"github.com/troupe-go/troupe/internal/seam"
	"github.com/troupe-go/troupe/machine"
)

// message is what the actor receives. The set is closed.
type message interface{ message() }

type (
	noticed struct { // by the session
		number uint64 // of the notices so far
		notice seam.Event
	}
	wished   struct{ event machine.Event } // by the face
	closing  struct{}                      // by the face
	answered struct {                      // by the session
		incarnation int
		event       machine.Event
	}
	recovered struct { // what the incarnation before left in ZooKeeper
		incarnation int
		epoch       uint64
		left        []string
	}
	swept   struct{ incarnation int } // all of it is gone
	crashed struct{ value any }       // by a test: see internal/crash
)

// What claims add.
type (
	wanted          struct{ claim machine.Claim }    // by the face: see the ledger
	withdrawn       struct{ claim machine.Claim }    // by the face: see the ledger
	released        struct{ possession *Possession } // by the face: its hold has ended
	lost            struct{ possession *Possession } // its hold ended by itself
	downgradeWanted struct{ possession *Possession } // by the face: its hold has ended, for a reader's

	// afterwards is what an answer leads to before the machine hears of it. It comes as a message,
	// so that an incarnation that has crashed meanwhile does nothing behind its successor's back.
	afterwards struct {
		incarnation int
		do          func()
	}
)

func (noticed) message()         {}
func (wished) message()          {}
func (closing) message()         {}
func (answered) message()        {}
func (recovered) message()       {}
func (swept) message()           {}
func (crashed) message()         {}
func (wanted) message()          {}
func (withdrawn) message()       {}
func (released) message()        {}
func (lost) message()            {}
func (downgradeWanted) message() {}
func (afterwards) message()      {}
