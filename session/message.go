package session

import (
	"github.com/troupe-go/troupe/session/internal/watches"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// message is what the session's actor receives. The set is closed.
type message interface{ message() }

type (
	begin     struct{} // the first epoch, or the next
	connEvent struct { // of an epoch
		epoch *epoch
		event zkconn.Event
	}
	synced struct { // the first sync of an epoch was answered, or not
		epoch *epoch
		err   error
	}
	trusted struct { // trust came or went
		epoch *epoch
		now   bool
	}
	gone     struct{ epoch *epoch } // ZooKeeper has ended its session, or ours is closed
	seated   struct{ seat *Seat }
	asked    struct{ read *watchRead } // a read with a watch
	readDone struct {                  // what came of it
		request *watchRead
		read    *watches.Read // the try
		answer  func()        // passes it on; nil: the connection went before it came
		armed   bool          // the znode is there, so that there is something to watch
	}
	crashed struct{ reason any } // something on the session's behalf has panicked
	vacated struct{ seat *Seat } // it was left
	forgone struct {             // a seat depends on a watch no more
		seat  *Seat
		epoch uint64
		key   watches.Key
	}
	unwatched struct { // what came of giving watches back
		epoch *epoch
		keys  []watches.Key
		ups   uint64 // the connections that there had been when it was asked for
		err   error
	}
	poked struct{ do func(*steward) } // by tests
)

func (begin) message()     {}
func (connEvent) message() {}
func (synced) message()    {}
func (trusted) message()   {}
func (gone) message()      {}
func (seated) message()    {}
func (asked) message()     {}
func (readDone) message()  {}
func (crashed) message()   {}
func (vacated) message()   {}
func (forgone) message()   {}
func (unwatched) message() {}
func (poked) message()     {}
