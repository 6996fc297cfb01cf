package session

import (
	"sync"

	"github.com/troupe-go/troupe/session/internal/watches"
)

// inbox tells one who is on a session, in order, what happens to it. It is the session's actor that
// tells; but for the end of the session, which is told when there is no actor any more.
type inbox struct {
	session *Session

	mu      sync.Mutex // held while an event is delivered
	deliver func(Event)
	told    uint64 // the epoch that it was told of, 0: none
	down    bool   // it was told that the connection is
	gone    bool   // its owner has left
}

// leave lets nothing be told any more; false if that was so already.
func (b *inbox) leave() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	left := b.gone
	b.gone = true
	return !left
}

// Tell implements [watches.Client].
func (b *inbox) Tell(e watches.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.gone && b.told != 0 {
		b.deliver(Fired{Epoch: b.told, Path: b.session.space.relative(e.Path), Type: EventType(e.Type)})
	}
}

// Left implements [watches.Client]: nothing is told any more.
func (b *inbox) Left() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.gone
}

// tell delivers an event of the epoch that the owner knows of. That the connection is down is told
// once.
func (b *inbox) tell(n Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.gone || b.told == 0 {
		return
	}
	switch n.(type) {
	case Disconnected:
		if b.down {
			return
		}
		b.down = true
	case Reconnected:
		b.down = false
	}
	b.deliver(n)
}

// beginEpoch tells of a new epoch, once; false if the owner knows of it.
func (b *inbox) beginEpoch(n EpochBegan) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.gone || b.told == n.Epoch {
		return false
	}
	b.told, b.down = n.Epoch, false
	b.deliver(n)
	return true
}

// endEpoch tells of the end of the epoch that the owner knows of, and whether ZooKeeper has
// confirmed it.
func (b *inbox) endEpoch(cause error, gone bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.endEpochLocked(cause, gone)
}

func (b *inbox) endEpochLocked(cause error, gone bool) {
	if b.gone || b.told == 0 {
		return
	}
	n := EpochEnded{Epoch: b.told, Cause: cause, Gone: gone}
	b.told = 0
	b.deliver(n)
}

// endSession tells of the end of everything.
func (b *inbox) endSession(cause error, gone bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.endEpochLocked(cause, gone)
	if !b.gone {
		b.deliver(SessionEnded{Cause: cause})
	}
}
