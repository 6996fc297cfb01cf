package fence

import (
	"fmt"
	"sync"
)

// Gate admits holders in the order of their tokens, for a resource that can't ask ZooKeeper: after
// a newer holder it admits no older one. Its zero value is ready to use. A Gate guards one
// resource, protected by one lock or election: the first sequencer that it admits binds it to the
// parent of the contenders, or to the znode of a lock of the layout Simple. Such a znode must not
// be named like a contender (lock-0000000001): the Gate would be bound to its parent.
//
// It is safe for concurrent use. To be a fence, it must be called in the same critical section as
// the write.
type Gate struct {
	mu      sync.Mutex
	highest Sequencer // of the newest holder admitted; zero: none yet
}

// Admit admits a holder, and remembers its sequencer as the newest. The same holder may be admitted
// any number of times until a newer one was. Errors: [ErrFenced] if a newer holder was admitted
// before, or another one with the same token, or if the sequencer is of another lock; [ErrMode] if
// it is shared; [ErrInvalid] if it is malformed, such as the zero Sequencer.
func (g *Gate) Admit(q Sequencer) error {
	if err := q.validate("admit"); err != nil {
		return err
	}
	if q.Mode != Exclusive {
		return fmt.Errorf("admit %s: %w", q.Path, ErrMode)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	h := g.highest
	switch {
	case h == Sequencer{} || h == q:
	case q.contenders() != h.contenders():
		return fenced("admit", q, "this gate is for "+h.contenders())
	case q.Token < h.Token:
		return fenced("admit", q, fmt.Sprintf("token %d was admitted before%s", h.Token, unlessLost))
	case q.Token == h.Token:
		return fenced("admit", q, "another holder was admitted with the same token"+unlessLost)
	}
	g.highest = q
	return nil
}

const unlessLost = " (if ZooKeeper has lost its data, or they were restored, tokens begin anew: see Gate.Reset)"

// Reset forgets all holders that were admitted. Call it when ZooKeeper has lost its data
// (session.ErrDataLoss), or an older copy was restored: tokens may then be smaller, or repeat. All
// holders that were admitted must have stopped by then, since the Gate would admit them again.
func (g *Gate) Reset() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.highest = Sequencer{}
}

// Highest returns the sequencer of the newest holder admitted; false if there was none. If the
// resource outlives its process, store this sequencer with its data. After a restart call Admit
// with the stored one, before any other.
func (g *Gate) Highest() (Sequencer, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.highest, g.highest != Sequencer{}
}
