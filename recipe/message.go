package recipe

import (
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/session"
)

// message is what the actor receives. The set is closed.
type message interface{ message() }

type (
	noticed struct { // by the session
		number uint64 // of the notices so far
		notice session.Event
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
		debris      []string
	}
	swept struct{ incarnation int } // all of it is gone
	poked struct{ do func() }       // by tests
)

func (noticed) message()   {}
func (wished) message()    {}
func (closing) message()   {}
func (answered) message()  {}
func (recovered) message() {}
func (swept) message()     {}
func (poked) message()     {}
