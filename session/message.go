package session

import "github.com/troupe-go/troupe/session/internal/zkconn"

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
	gone    struct{ epoch *epoch } // ZooKeeper has ended its session, or ours is closed
	arrived struct{ client *client }
	crashed struct{ reason any } // something on the session's behalf has panicked
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

func (m arrived) deliver(a *sessionActor) { a.present(m.client) }
func (m crashed) deliver(*sessionActor)   { panic(m.reason) }
