package queue

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/troupe-go/troupe/machine"
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/session"
)

// idle is the time without work after which a queue's background work ends.
const idle = time.Minute

// worker has an actor work for callers: it exists only while there is work, and a minute longer.
// What the callers want is in the records of its work, which outlive the actor.
type worker struct {
	queue *Queue
	kind  string
	work  interface {
		machine(first bool) machine.Machine // for a new actor, or one that was restarted; with mu
		standing() []machine.Event          // what is wanted, for a new machine; with mu
		perform(e machine.Effect)
		renew(cause error) (waits bool) // the actor, or its machine, is not the former one any more; tells whether somebody waits; with mu
		refuse(err error)               // ends all waiting calls; with mu
	}

	over func(err error) // after the end of an actor, if not nil

	mu      sync.Mutex
	host    *recipe.Host // nil: none
	fresh   bool         // the actor's first machine is not made yet
	closing bool
}

// tell tells the actor something; false if there is none. With mu.
func (w *worker) tell(ev machine.Event) bool { return w.host != nil && w.host.Tell(ev) }

// notify is tell without mu.
func (w *worker) notify(ev machine.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tell(ev)
}

// start starts an actor, and tells it what is wanted. With mu.
func (w *worker) start() error {
	h, err := recipe.New(recipe.Config{
		Session: w.queue.session, Kind: w.kind, Path: w.queue.path, Perform: w.work.perform,
		Machine: func() machine.Machine {
			w.mu.Lock()
			defer w.mu.Unlock()
			first := w.fresh
			if !first {
				w.work.renew(session.ErrRestarted)
			}
			w.fresh = false
			return w.work.machine(first)
		},
		Standing: func() []machine.Event {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.work.standing()
		},
	})
	if err != nil {
		return err
	}
	w.work.renew(session.ErrClosed)
	w.host, w.fresh = h, true
	go w.follow(h) // ends with the instance, which ends with its session at the latest
	for _, ev := range w.work.standing() {
		h.Tell(ev)
	}
	return nil
}

// follow waits for the end of an actor. If the actor ended because it had just found no work, and
// there is work by now, follow starts the next one.
func (w *worker) follow(h *recipe.Host) {
	<-h.Done()
	w.mu.Lock()
	if w.host == h { // nobody has started the next one yet
		w.host = nil
		idled := errors.Is(h.Err(), session.ErrClosed) && !w.closing
		if w.work.renew(h.Err()) && (!idled || w.start() != nil) {
			w.work.refuse(h.Err())
		}
	}
	w.mu.Unlock()
	if w.over != nil {
		w.over(h.Err())
	}
}

// close ends it: the actor winds up, for as long as ctx allows.
func (w *worker) close(ctx context.Context) error {
	w.mu.Lock()
	w.closing = true
	h := w.host
	w.mu.Unlock()
	if h == nil {
		return nil
	}
	return h.Close(ctx)
}
