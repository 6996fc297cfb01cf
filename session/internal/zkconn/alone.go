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

// crowd is who has requests on a line: any number, or one alone. They come in, in order of asking,
// when they may. It is no mutex, for the reason that turn is none.
type crowd struct {
	mu      sync.Mutex
	inside  int
	alone   bool // the one that is inside is
	waiting []*entrant
}

type entrant struct {
	alone bool
	in    *notify.Latch
}

// enter waits until a request may be sent; false if none will be any more.
func (w *crowd) enter(alone bool, gone, shut *notify.Latch) bool {
	e := w.ask(alone)
	if e == nil {
		return true
	}
	select {
	case <-e.in.C():
		return true
	case <-gone.C():
	case <-shut.C():
	}
	return !w.giveUp(e)
}

// ask lets one in, or puts it in line.
func (w *crowd) ask(alone bool) *entrant {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waiting) == 0 && w.room(alone) {
		w.let(alone)
		return nil
	}
	e := &entrant{alone: alone, in: notify.NewLatch()}
	w.waiting = append(w.waiting, e)
	return e
}

// giveUp takes one out of the line; false if it is in.
func (w *crowd) giveUp(e *entrant) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.Index(w.waiting, e)
	if i < 0 {
		return false
	}
	w.waiting = slices.Delete(w.waiting, i, i+1)
	w.next()
	return true
}

// leave notes that a request is answered, or will not be.
func (w *crowd) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inside--
	if w.alone { // whoever is not suspected does not wait for a second one that is
		w.alone = false
		slices.SortStableFunc(w.waiting, func(a, b *entrant) int { return order(a.alone) - order(b.alone) })
	}
	w.next()
}

func order(alone bool) int {
	if alone {
		return 1
	}
	return 0
}

// next lets in who may come. Under mu, as what follows.
func (w *crowd) next() {
	for len(w.waiting) > 0 && w.room(w.waiting[0].alone) {
		e := w.waiting[0]
		w.waiting = w.waiting[1:]
		w.let(e.alone)
		e.in.Close()
	}
}

func (w *crowd) room(alone bool) bool { return !w.alone && (!alone || w.inside == 0) }

func (w *crowd) let(alone bool) {
	w.inside++
	w.alone = alone
}
