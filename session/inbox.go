package session

import (
	"sync"
	"sync/atomic"

	"github.com/troupe-go/troupe/internal/seam"
	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/session/internal/watches"
)

// inbox passes events to one client, one at a time: those of watches from wherever they come, all
// others from the session's actor, and the end of the session from where that actor ends.
type inbox struct {
	session *Session
	left    atomic.Bool // the client wants no event any more

	mu      sync.Mutex // held while an event is delivered
	deliver func(seam.Event)
	told    uint64 // the epoch that the client was told of, 0: none
	down    bool   // it was told that the connection is down
}

// leave ends the events: none is under way when it returns. False: they had ended before.
func (b *inbox) leave() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.left.Swap(true)
}

// Left implements [watches.Client].
func (b *inbox) Left() bool { return b.left.Load() }

var changes = map[watches.EventType]machine.Change{
	watches.Created: machine.DataChanged, watches.DataChanged: machine.DataChanged,
	watches.ChildrenChanged: machine.ChildrenChanged, watches.Deleted: machine.Deleted,
}

// fired tells of an event of a watch that was armed in an epoch, if the client is in that epoch.
func (b *inbox) fired(e machine.Fired) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.Left() && b.told == e.Epoch {
		b.deliver(e)
	}
}

// tell tells of an event of the epoch that the client was told of. That the connection is down is
// told once.
func (b *inbox) tell(n seam.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.Left() || b.told == 0 {
		return
	}
	switch n.(type) {
	case machine.Suspended:
		if b.down {
			return
		}
		b.down = true
	case machine.Resumed:
		b.down = false
	}
	b.deliver(n)
}

// beginEpoch tells of a new epoch, once; false if the client was told of it before.
func (b *inbox) beginEpoch(n machine.EpochBegan) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.Left() || b.told == n.Epoch {
		return false
	}
	b.told, b.down = n.Epoch, false
	b.deliver(n)
	return true
}

// endEpoch tells of the end of the epoch that the client was told of, and whether ZooKeeper has
// confirmed that end.
func (b *inbox) endEpoch(cause error, gone bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.endEpochLocked(cause, gone)
}

func (b *inbox) endEpochLocked(cause error, gone bool) {
	if b.Left() || b.told == 0 {
		return
	}
	n := seam.EpochEnded{Epoch: b.told, Cause: cause, Gone: gone}
	b.told = 0
	b.deliver(n)
}

// endSession tells of the end of the epoch, and of the session.
func (b *inbox) endSession(cause error, gone bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.endEpochLocked(cause, gone)
	if !b.Left() {
		b.deliver(seam.SessionEnded{Cause: cause})
	}
}
