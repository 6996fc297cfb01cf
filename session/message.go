package session

import (
	"github.com/troupe-go/troupe/session/internal/watches"
	"github.com/troupe-go/troupe/session/internal/zkconn"
)

// message is what the session's actor receives: it knows what the actor does with it. What is about
// an epoch that is over is dropped.
type message interface{ deliver(a *sessionActor) }

type (
	begin     struct{} // the first epoch, or the next
	connEvent struct { // of an epoch
		epoch *epoch
		event zkconn.Event
	}
	synced struct { // the first sync of an epoch was answered, or not
		epoch *epoch
		round int
		err   error
	}
	trusted struct { // trust came or went
		epoch *epoch
		now   bool
	}
	gone     struct{ epoch *epoch } // ZooKeeper has ended its session, or ours is closed
	arrived  struct{ client *Client }
	asked    struct{ read *watchRead } // a read with a watch
	readDone struct {                  // what came of it
		request *watchRead
		read    *watches.Read // the try
		answer  func()        // passes it on; nil: the connection went before it came
		armed   bool          // the znode is there, so that there is something to watch
	}
	crashed  struct{ reason any }     // something on the session's behalf has panicked
	departed struct{ client *Client } // it has left
	forgone  struct {                 // a client depends on a watch no more
		client *Client
		epoch  uint64
		key    watches.Key
	}
	unwatched struct { // what came of giving watches back
		epoch *epoch
		keys  []watches.Key
		ups   uint64 // the connections that there had been when it was asked for
		err   error
	}
)

func (begin) deliver(a *sessionActor) {
	if a.epoch == nil && a.before == nil {
		a.open()
	}
}

func (m connEvent) deliver(a *sessionActor) {
	if m.epoch == a.epoch {
		a.onConnEvent(m.event)
	}
}

func (m synced) deliver(a *sessionActor) {
	if m.epoch == a.epoch && m.round == a.round {
		a.onSynced(m.err)
	}
}

func (m trusted) deliver(a *sessionActor) {
	if m.epoch == a.epoch {
		a.onTrusted(m.now)
	}
}

func (m gone) deliver(a *sessionActor) {
	if m.epoch == a.before && m.epoch.gone.Closed() {
		a.onGone()
	}
}

func (m arrived) deliver(a *sessionActor)  { a.present(m.client) }
func (m asked) deliver(a *sessionActor)    { a.onAsked(m.read) }
func (m readDone) deliver(a *sessionActor) { a.onReadDone(m) }
func (m crashed) deliver(*sessionActor)    { panic(m.reason) }
func (m departed) deliver(a *sessionActor) { a.table.Leave(&m.client.inbox) }

func (m forgone) deliver(a *sessionActor) {
	if a.epoch != nil && a.epoch.number == m.epoch {
		a.table.Forget(&m.client.inbox, m.key)
	}
}

func (m unwatched) deliver(a *sessionActor) {
	if m.epoch == a.epoch {
		a.onUnwatched(m)
	}
}
