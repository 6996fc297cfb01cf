package queue

import (
	"github.com/troupe-go/troupe/recipe"
	"github.com/troupe-go/troupe/recipes/queue/internal/consume"
	"github.com/troupe-go/troupe/session"
)

// tell tells of an event of an item that this process does not have in hand.
func (q *Queue) tell(ev session.Event) {
	ev.Recipe, ev.Path = "queue", q.session.Path(q.path)
	recipe.Emit(q.session, ev)
}

// tellSettled tells, once, how an item in hand has ended: as the application has settled it, or by
// the error that it was lost by.
func (i *Item) tellSettled(err error) {
	if i.settled.Swap(true) {
		return
	}
	i.mu.Lock()
	to := "returned"
	if i.how == consume.Ack {
		to = "acknowledged"
	}
	i.mu.Unlock()
	if err != nil {
		to = "lost"
	}
	i.tenure.Tell(session.EventItemSettled, to, err)
}
