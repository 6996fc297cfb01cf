package session

import "time"

// Event is what a [Client] is told. The set is closed. Those of one epoch come between its
// EpochBegan and its EpochEnded.
type Event interface{ event() }

type (
	// EpochBegan: connected in a new ZooKeeper session, authenticated, and up to date with the
	// leader. Trusted tells whether a hold can be had at once.
	EpochBegan struct {
		Epoch     uint64
		SessionID int64
		Timeout   time.Duration // as negotiated last: a reconnection to a server that is configured otherwise may change it, of which [Session.Status] tells
		Trusted   bool
	}

	// Disconnected: the connection is down. The epoch, and every place in line, goes on; what is
	// asked now is answered later.
	Disconnected struct{ Epoch uint64 }

	// Reconnected: the connection is back, in the same epoch.
	Reconnected struct{ Epoch uint64 }

	// TrustEnded: the ZooKeeper session can't be assumed alive any more. Every hold has ended by
	// the time this comes.
	TrustEnded struct{ Epoch uint64 }

	// TrustGained: it can again. It comes after every refusal of a hold for want of trust, if trust
	// comes back; also if no TrustEnded came before, since an idle session's trust runs out
	// silently.
	TrustGained struct{ Epoch uint64 }

	// EpochEnded: the ZooKeeper session is over. Gone tells whether ZooKeeper has confirmed that,
	// so that every ephemeral znode of it is gone: it has expired ([ErrExpired]), or was closed
	// after a failure in this process ([ErrRestarted]; it comes only when that is confirmed). Not
	// Gone is an epoch that ends with the session, of which SessionEnded says next why: its znodes
	// may stand until ZooKeeper lets it expire, and whatever was to be deleted is not known to be.
	EpochEnded struct {
		Epoch uint64
		Cause error
		Gone  bool
	}

	// SessionEnded: there will be no further epoch and no further event.
	SessionEnded struct{ Cause error }

	// Fired: a watch that this client armed fired, once. It never comes before the answer of the
	// read that armed it. It may come without a change, when a change was already seen by the read;
	// it is never missing after one.
	Fired struct {
		Epoch uint64
		Path  string
		Type  EventType
	}
)

func (EpochBegan) event()   {}
func (Disconnected) event() {}
func (Reconnected) event()  {}
func (TrustEnded) event()   {}
func (TrustGained) event()  {}
func (EpochEnded) event()   {}
func (SessionEnded) event() {}
func (Fired) event()        {}
