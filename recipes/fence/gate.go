package fence

import (
	"fmt"
	"sync"
)

// Gate is a high-water mark for a resource that can't ask ZooKeeper: it admits holders in the order
// of their tokens, and nobody behind a newer one. Its zero value is ready to use. A Gate guards one
// resource, which is held by one line, or by one lock of the layout Simple: the first sequencer
// that it admits binds it to that. (A Simple lock must not have the name of a contender, such as
// lock-0000000001: it would pass for one in the line of its parent.)
//
// It is safe for concurrent use. To be a fence, it must be asked in the same critical section that
// does the write.
type Gate struct {
	mu      sync.Mutex
	highest Sequencer // of the newest holder admitted; zero: nobody yet
}

// Admit lets a holder in, and raises the mark to its token. It may come again and again while
// nobody newer has come. [ErrFenced]: a newer holder was admitted before, or the sequencer is of
// another line. [ErrMode]: it is shared. [ErrInvalid]: it is malformed, such as the zero Sequencer.
func (g *Gate) Admit(q Sequencer) error {
	if err := q.validate(); err != nil {
		return err
	}
	if q.Mode != Exclusive {
		return fmt.Errorf("fence: %w: %s", ErrMode, q)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	h := g.highest
	switch {
	case h == Sequencer{} || h == q:
	case q.line() != h.line():
		return fenced(q, "this gate is for "+h.line())
	case q.Token < h.Token:
		return fenced(q, fmt.Sprintf("token %d was admitted before", h.Token))
	case q.Token == h.Token:
		return fenced(q, "somebody else was admitted with the same token")
	}
	g.highest = q
	return nil
}

// Highest returns the sequencer of the newest holder admitted; false if there was none. A resource
// that outlives its process keeps it beside its data and admits it first when it starts again.
func (g *Gate) Highest() (Sequencer, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.highest, g.highest != Sequencer{}
}
