package queue

import (
	"context"
	"errors"

	"github.com/troupe-go/troupe/recipes/queue/internal/look"
)

// Entry describes an item without claiming it.
type Entry struct {
	ID       string
	Data     []byte
	Priority int
	Attempts int // how often it was received
}

// Peek returns the item that Take would claim now, without claiming it; ErrEmpty if there is none.
// It syncs first, so it sees everything that was done before the call. It does not see an item
// whose delay or pause is over but that no consumer has made available yet.
func (q *Queue) Peek(ctx context.Context) (Entry, error) {
	if err := q.open(); err != nil {
		return Entry{}, failed("peek", q.path, err)
	}
	e, err := q.looking().Peek(ctx)
	return Entry{ID: e.ID, Data: e.Record.Body, Priority: e.Priority, Attempts: e.Attempts}, failed("peek", q.path, translated(err))
}

// Len counts the items: waiting, being processed, and delayed. It syncs first, so it sees
// everything that was done before the call. It lists every bucket, one listing for some hundred
// items, and is only an estimate while others put and take.
func (q *Queue) Len(ctx context.Context) (int, error) {
	if err := q.open(); err != nil {
		return 0, failed("len", q.path, err)
	}
	n, err := q.looking().Len(ctx)
	return n, failed("len", q.path, err)
}

// Remove deletes the item with this id, whether it is waiting, being processed or delayed. Its
// consumer, if any, learns of it from Ack or Nack (session.ErrLost). If there is no such item the
// error is session.ErrNoNode. It syncs first, so it sees everything that was done before the call.
// It searches for the item, which costs as much as Len.
func (q *Queue) Remove(ctx context.Context, id string) error {
	err := q.open()
	switch {
	case err != nil:
	case id == "":
		err = errors.New("id: empty")
	default:
		err = q.looking().Remove(ctx, id)
	}
	return failed("remove", q.path, err)
}

func (q *Queue) looking() look.Queue {
	return look.Queue{Session: q.session, Root: q.root(), Home: q.home}
}
