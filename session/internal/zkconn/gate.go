package zkconn

import (
	"slices"
	"sync"

	"github.com/troupe-go/troupe/internal/notify"
)

// gate limits the requests that are under way on a connection: to any number, or to one that is
// alone. It admits them in order of asking. It is no mutex for the reason that wire.writing is
// none.
type gate struct {
	mu      sync.Mutex
	inside  int
	alone   bool // the one inside is alone
	waiting []*waiter
}

type waiter struct {
	alone    bool
	admitted *notify.Latch
}

// enter waits until a request may be sent. It returns false if the connection is lost or closed
// before.
func (g *gate) enter(alone bool, lost, closed *notify.Latch) bool {
	w := g.tryEnter(alone)
	if w == nil {
		return true
	}
	select {
	case <-w.admitted.C():
		return true
	case <-lost.C():
	case <-closed.C():
	}
	return !g.cancel(w)
}

// tryEnter returns nil if the request is admitted at once, or else the waiter that is.
func (g *gate) tryEnter(alone bool) *waiter {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == 0 && g.admits(alone) {
		g.admit(alone)
		return nil
	}
	w := &waiter{alone: alone, admitted: notify.NewLatch()}
	g.waiting = append(g.waiting, w)
	return w
}

// cancel removes a waiter. It returns false if that was admitted.
func (g *gate) cancel(w *waiter) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.waiting, w)
	if i < 0 {
		return false
	}
	g.waiting = slices.Delete(g.waiting, i, i+1)
	g.admitWaiting()
	return true
}

// leave is called when a request is answered, or will not be.
func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside--
	if g.alone { // the others don't wait for a second one that is alone
		g.alone = false
		slices.SortStableFunc(g.waiting, func(a, b *waiter) int { return rank(a.alone) - rank(b.alone) })
	}
	g.admitWaiting()
}

func rank(alone bool) int {
	if alone {
		return 1
	}
	return 0
}

// admitWaiting admits those waiting that may enter. Under mu, as what follows.
func (g *gate) admitWaiting() {
	for len(g.waiting) > 0 && g.admits(g.waiting[0].alone) {
		w := g.waiting[0]
		g.waiting = g.waiting[1:]
		g.admit(w.alone)
		w.admitted.Close()
	}
}

func (g *gate) admits(alone bool) bool { return !g.alone && (!alone || g.inside == 0) }

func (g *gate) admit(alone bool) {
	g.inside++
	g.alone = alone
}
