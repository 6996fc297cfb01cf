package session

import (
	"time"

	"github.com/troupe-go/troupe/internal/enum"
)

// State is how a session stands with ZooKeeper.
type State int

// The states of a session: see the package's documentation for what leads from one to another.
const (
	Connecting State = iota // there is no epoch yet, or a new one begins
	Connected               // connected, and trusted as far as anything depends on it
	Suspended               // the connection is down; the ZooKeeper session lives, and reconnection is under way
	Untrusted               // no word from the leader for so long that the ZooKeeper session may have ended
	Lost                    // the epoch is over, since the server said so or this process failed; the next begins when ZooKeeper is known to have ended the old one
	Closed                  // for good
)

// String is the state's name, in small letters.
func (s State) String() string {
	return enum.Name("State", s, "connecting", "connected", "suspended", "untrusted", "lost", "closed")
}

// Status is how a session stands at an instant.
type Status struct {
	State        State
	Epoch        uint64        // which ZooKeeper session, counted from 1; 0 before the first
	SessionID    int64         // the number that ZooKeeper gave it; 0 before it did
	Timeout      time.Duration // as negotiated; as asked for before that
	TrustedUntil time.Time     // until when possessions may be held without a further word from the leader; zero if never yet in this epoch
	Server       string        // host:port of the present connection, "" if there is none
	Address      string        // that it goes to: as Server, or, if that is a name, the address that it stands for

	// Cause is why the latest epoch to end has ended: [ErrExpired], which [ErrDataLoss] may come
	// with, [ErrRestarted] or [ErrClosed]; nil if none has. While a connection is looked for, it
	// says so first: for how long there has been none, and what the last attempt has seen.
	Cause error
}
