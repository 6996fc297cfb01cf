package seam

// Event is what a [Client] is told: EpochBegan, Suspended, Resumed, TrustEnded, TrustGained and
// Fired of package machine, and those below. Those of one epoch come between its EpochBegan and its
// EpochEnded.
type Event any

type (
	// EpochEnded: the ZooKeeper session is over. Gone tells whether ZooKeeper has confirmed that,
	// so that every ephemeral znode of it is gone: it has expired (session.ErrExpired), or was
	// closed after a failure in this process (session.ErrRestarted; it comes only when that is
	// confirmed). Not Gone is an epoch that ends with the session, of which SessionEnded says next
	// why: its znodes may stand until ZooKeeper lets it expire, and whatever was to be deleted is
	// not known to be.
	EpochEnded struct {
		Epoch uint64
		Cause error
		Gone  bool
	}

	// SessionEnded: there will be no further epoch and no further event.
	SessionEnded struct{ Cause error }
)
