package link

// turn is had by one request at a time, in order of asking: from before it is handed to the library until its frame is out. So it is known which
// frame belongs to which request, and at most one request is inside the library and not yet sent when a connection goes.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

// pass gives the turn back.
func (t turn) pass() { <-t }
