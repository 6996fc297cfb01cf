package host

import (
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/session"
)

// message is what the actor receives. The set is closed.
type message interface{ message() }

type (
	noticed struct { // by the session
		number uint64 // of the notices so far
		notice session.Event
	}
	wished   struct{ event recipe.Event } // by the face
	closing  struct{}                     // by the face
	answered struct {                     // by the session
		incarnation int
		event       recipe.Event
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
