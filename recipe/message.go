package recipe

import (
	"github.com/troupe-go/troupe/internal/seam"
	"github.com/troupe-go/troupe/machine"
)

// message is a message to the actor. The set is closed.
type message interface{ message() }

type (
	noticed struct { // by the session
		number uint64 // of the notices so far
		notice seam.Event
	}
	intended struct{ event machine.Event } // by the face: an intent
	closing  struct{}                      // by the face
	answered struct {                      // by the session, to this incarnation
		incarnation int
		event       machine.Event
	}
	recovered struct { // by the session, see recovery.go: the znodes that the crashed incarnation left
		incarnation int
		epoch       uint64
		left        []string
	}
	swept   struct{ incarnation int } // those znodes are gone
	crashed struct{ value any }       // by a test: see internal/crash
)

// The messages of an instance whose machine grants.
type (
	wanted          struct{ claim machine.Claim }    // by the face: it is in the ledger
	withdrawn       struct{ claim machine.Claim }    // by the face: it is in the ledger
	released        struct{ possession *Possession } // by the face: its hold has ended
	lost            struct{ possession *Possession } // by the session: its hold has ended without a release; by the face: see Possession.Lose
	downgradeWanted struct{ possession *Possession } // by the face: its hold has ended, for a reader's

	// afterwards is what the actor does after an answer, before the machine is told of it. It is
	// for the incarnation that asked: if that has crashed meanwhile, it is dropped.
	afterwards struct {
		incarnation int
		do          func()
	}
)

func (noticed) message()         {}
func (intended) message()        {}
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
