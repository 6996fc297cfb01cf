package zkconn

// turn is had by one at a time, in order of asking. It is no mutex, since those who wait for one
// can't give up, and, with virtual time (testing/synctest), stop the clock: a write to a network
// that takes nothing ends by a deadline.
//
// The turn to hand a request to the library is had from before that until its frame is out. So it
// is known which frame belongs to which request, and at most one request is inside the library and
// not yet sent when a connection goes.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

func (t turn) take() { t <- struct{}{} }

// pass lets the next have it.
func (t turn) pass() { <-t }
