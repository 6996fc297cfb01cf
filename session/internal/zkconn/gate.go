package zkconn

import (
	"slices"
	"sync"

	"github.com/troupe-go/troupe/internal/notify"
)

// Alone is the same Conn to one whose request may be why servers hang up: each of its requests is
// sent when every other one that was sent is answered, and no other is sent before it is. So it is
// known whose fault it is if the connection goes. It costs the others a round trip.
func (c *Conn) Alone() *Conn { return &Conn{core: c.core, alone: true} }

// gate is who has requests on a line: any number, or one alone. They come in, in order of asking,
// when they may. It is no mutex, for the reason that turn is none.
type gate struct {
	mu      sync.Mutex
	inside  int
	alone   bool // the one that is inside is
	waiting []*waiter
}

type waiter struct {
	alone bool
	in    *notify.Latch
}

// enter waits until a request may be sent; false if none will be any more.
func (g *gate) enter(alone bool, gone, shut *notify.Latch) bool {
	e := g.tryEnter(alone)
	if e == nil {
		return true
	}
	select {
	case <-e.in.C():
		return true
	case <-gone.C():
	case <-shut.C():
	}
	return !g.cancel(e)
}

// tryEnter lets one in, or puts it in line.
func (g *gate) tryEnter(alone bool) *waiter {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == 0 && g.mayEnter(alone) {
		g.admit(alone)
		return nil
	}
	e := &waiter{alone: alone, in: notify.NewLatch()}
	g.waiting = append(g.waiting, e)
	return e
}

// cancel takes one out of the line; false if it is in.
func (g *gate) cancel(e *waiter) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.waiting, e)
	if i < 0 {
		return false
	}
	g.waiting = slices.Delete(g.waiting, i, i+1)
	g.admitWaiters()
	return true
}

// leave notes that a request is answered, or will not be.
func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside--
	if g.alone { // whoever is not suspected does not wait for a second one that is
		g.alone = false
		slices.SortStableFunc(g.waiting, func(a, b *waiter) int { return order(a.alone) - order(b.alone) })
	}
	g.admitWaiters()
}

func order(alone bool) int {
	if alone {
		return 1
	}
	return 0
}

// admitWaiters lets in who may come. Under mu, as what follows.
func (g *gate) admitWaiters() {
	for len(g.waiting) > 0 && g.mayEnter(g.waiting[0].alone) {
		e := g.waiting[0]
		g.waiting = g.waiting[1:]
		g.admit(e.alone)
		e.in.Close()
	}
}

func (g *gate) mayEnter(alone bool) bool { return !g.alone && (!alone || g.inside == 0) }

func (g *gate) admit(alone bool) {
	g.inside++
	g.alone = alone
}
